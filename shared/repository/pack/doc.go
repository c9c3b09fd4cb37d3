// Package pack is git's packs and their indexes (version 2 of both): it writes
// small ones, finds and reads objects in any, and merges several into one.
//
// What must stay true:
//
//   - A pack written here is complete in itself: it names no base outside.
//   - Merging copies objects as they lie, without unpacking them, except that
//     a tree may be stored as its difference from a similar one. No object
//     that a source holds is lost, and an object in several sources is stored
//     once.
//   - What is inflated and unpacked for an object is bounded; see Resolver.
//   - Bytes that are no pack, or a damaged one, are an error and never a
//     panic, and what is read is checked: an object's length and, by its
//     caller, its name; a copied entry's checksum.
package pack
