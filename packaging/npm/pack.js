// Makes npm packages of the binaries of a release: one for each platform, which
// npm installs by itself where it fits, and svc, which runs it. Nothing is
// downloaded or run at their installation.
//   node packaging/npm/pack.js <folder with binaries> <release> <folder for packages>
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "..", "..");
const [binaries, release, packages] = process.argv.slice(2);
if (!packages) {
  console.error("usage: node packaging/npm/pack.js <folder with binaries> <release> <folder for packages>");
  process.exit(2);
}
// What has no tag is no release, and older than every one.
const version = /^v\d+\.\d+\.\d+/.test(release) ? release.slice(1) : `0.0.0-g${release.replace(/[^0-9A-Za-z.-]/g, "-")}`;
const svc = { ...JSON.parse(readFileSync(join(here, "package.json"))), version, optionalDependencies: {} };
const { description, license } = svc;
const nodes = { windows: "win32", amd64: "x64" }; // by Go's names, where they differ

const work = mkdtempSync(join(tmpdir(), "svc-npm-"));
mkdirSync(packages, { recursive: true });
for (const file of readdirSync(binaries).sort()) {
  const [, goos, arch, exe] = file.match(/^svc_([a-z]+)_([a-z0-9]+)(\.exe)?$/) ?? [];
  if (!goos) continue;
  const [os, cpu] = [nodes[goos] ?? goos, nodes[arch] ?? arch];
  const name = `${svc.name}-${os}-${cpu}`;
  svc.optionalDependencies[name] = version;
  const folder = join(work, `${os}-${cpu}`);
  mkdirSync(join(folder, "bin"), { recursive: true });
  const binary = join(folder, "bin", `svc${exe ?? ""}`);
  cpSync(join(binaries, file), binary);
  chmodSync(binary, 0o755);
  // Yarn must not leave it in an archive, where no system can run it.
  pack(folder, { name, version, description: `${description}: the binary for ${goos}/${arch}`, license, os: [os], cpu: [cpu], files: ["bin", "LICENSE"], preferUnplugged: true });
}
if (Object.keys(svc.optionalDependencies).length === 0) {
  console.error(`there are no binaries in ${binaries}: run make dist`);
  process.exit(1);
}
cpSync(join(here, "bin"), join(work, "svc", "bin"), { recursive: true });
cpSync(join(here, "README.md"), join(work, "svc", "README.md"));
pack(join(work, "svc"), svc);
rmSync(work, { recursive: true });

function pack(folder, description) {
  cpSync(join(root, "LICENSE"), join(folder, "LICENSE"));
  writeFileSync(join(folder, "package.json"), JSON.stringify(description, null, 2) + "\n");
  const file = execFileSync("npm", ["pack", "--silent", "--pack-destination", resolve(packages)], { cwd: folder, encoding: "utf8", shell: process.platform === "win32" });
  console.log(join(packages, file.trim()));
}
