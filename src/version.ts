// The version that the service reports, read from package.json at start.
import { readFileSync } from 'node:fs'

/** The package's version (`0.1.0`). */
export const version: string = readVersion()

function readVersion(): string {
  for (const path of ['../package.json', '../../package.json']) {
    try {
      const manifest: unknown = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))
      const found = (manifest as { name?: unknown; version?: unknown }).version
      if (typeof found === 'string') return found
    } catch {
      // Compiled output lies one folder deeper than the sources.
    }
  }
  throw new Error('package.json was not found beside the service')
}
