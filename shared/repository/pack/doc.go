// Package pack is git's packs and their indexes (version 2 of both): it writes
// small ones, finds and reads objects in any, and merges several into one.
//
// What must stay true:
//
//   - A pack written here is complete in itself: it names no base outside.
//   - Merging copies objects as they lie, without unpacking them, except that
//     a tree may be stored as its difference from a similar one, and a document
//     as its difference from a newer version. No object that a source holds is
//     lost, and an object in several sources is stored once.
//   - The same sources in the same order make the same pack.
//   - A version of a document that was stored as a difference here is one from a
//     whole one, which lies before it with nothing but other versions between:
//     one read of at most about twice the whole's length has both. What is asked
//     for most, the newest, is whole.
//   - What is inflated and unpacked for an object is bounded; see Resolver.
//   - Bytes that are no pack, or a damaged one, are an error and never a
//     panic, and what is read is checked: an object's length and, by its
//     caller, its name; a copied entry's checksum.
//
// # Versions of a document
//
// A commit's pack holds its document whole, since git allows no delta without its
// base in the same pack: one with the base beside it would be larger still. So what
// many versions of a large document take is up to merging. Of documents from 4 KB
// on, Merge stores the newest version whole and older ones as differences from it,
// until they take as much as it does together; then a whole one comes again. When
// packs are merged that were merged before, fewer than 64 older versions are made
// differences from the newest of all, more are left where they lie, so that no
// version is packed again more often than that, however long the history gets.
// Versions are recognized by how they begin, since a pack knows no paths.
//
// Documents are held back until then, 32 MB when they are compressed, 16 MB of them
// inflated too: merging 450 packs of 75 documents of 400 KB took a heap of 65 MB, and
// 10 ms for each. Of 64 MB, 11 MB were left, most of it the newest.
package pack
