// Run the script of the page on folders: paths in lines on standard input, their exit codes in lines on standard output.
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { webcrypto } from "node:crypto";

globalThis.crypto ??= webcrypto;
const page = readFileSync(process.argv[2], "utf-8");
new Function(/<script>([^]*)<\/script>/.exec(page)[1])();

for await (const line of createInterface({ input: process.stdin })) {
  const [folder, key] = JSON.parse(line), files = new Map();
  for (const name of readdirSync(folder))
    if (lstatSync(`${folder}/${name}`).isFile()) files.set(name, async () => new Uint8Array(readFileSync(`${folder}/${name}`)));
  try {
    const found = await holdfast.verify(files, key && readFileSync(key, "utf-8"));
    console.log(JSON.stringify([found.code, found.checks.filter((one) => !one.holds)]));
  } catch (error) {
    if (!(error instanceof holdfast.NoRelease)) throw error;
    console.log(JSON.stringify([2, error.message]));
  }
}
