// Compares the generated folder with its expected files, and writes it.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Contents by path within the generated folder. */
export type GeneratedFiles = ReadonlyMap<string, string>

function listExistingFiles(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) =>
        join(entry.parentPath, entry.name)
          .slice(folder.length + 1)
          .replaceAll('\\', '/'),
      )
      .sort()
  } catch {
    return []
  }
}

/** Returns the differences, one line each. Empty where the folder is up to date. */
export function listFolderDifferences(folder: string, outputs: GeneratedFiles): string[] {
  const found = new Set(listExistingFiles(folder))
  const lines = [...found].filter((path) => !outputs.has(path)).map((path) => `${path} should not exist`)
  for (const [path, content] of outputs) {
    if (!found.has(path)) lines.push(`${path} is missing`)
    else if (readFileSync(join(folder, path), 'utf8') !== content)
      lines.push(`${path} differs from what the contract generates`)
  }
  return lines.sort()
}

/** Writes changed files, and removes unexpected ones. */
export function writeGeneratedFiles(folder: string, outputs: GeneratedFiles): void {
  for (const path of listExistingFiles(folder)) if (!outputs.has(path)) rmSync(join(folder, path))
  for (const [path, content] of outputs) {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    if (!hasSameContent(file, content)) writeFileSync(file, content)
  }
}

function hasSameContent(file: string, content: string): boolean {
  try {
    return readFileSync(file, 'utf8') === content
  } catch {
    return false
  }
}
