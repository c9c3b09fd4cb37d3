#!/usr/bin/env node
// Runs the svc that is built for this platform. It comes in a package of its
// own, of which npm installs the one that fits.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { constants } from "node:os";

const platform = `@svc-example/svc-${process.platform}-${process.arch}`;
let binary;
try {
  binary = createRequire(import.meta.url).resolve(`${platform}/bin/svc${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(`svc: ${platform} is not installed. It is an optional dependency, so npm must not be told to omit those; ` +
    "and there is none for systems other than Linux, macOS and Windows on x64 and arm64.");
  process.exit(1);
}

const svc = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
// svc ends in its own way, and this program after it.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => svc.kill(signal));
svc.on("error", (error) => {
  console.error(`svc: cannot run ${binary}: ${error.message}`);
  process.exit(1);
});
svc.on("exit", (status, signal) => process.exit(status ?? 128 + constants.signals[signal]));
