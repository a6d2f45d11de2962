// The version of the service, read from package.json at the start.
import { readFileSync } from 'node:fs'

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
