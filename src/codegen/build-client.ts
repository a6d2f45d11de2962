// Builds the client for other projects: plain JavaScript with declarations, in `dist/client`. It runs on a Node without TypeScript support.
import { join } from 'node:path'
import ts from 'typescript'

const ROOT = join(import.meta.dirname, '../..')
const ENTRIES = ['node.ts', 'browser.ts'].map((name) => join(ROOT, 'src/client', name))

/**
 * Writes the files that the entries import, below `out`, by their paths from the root. Types are checked elsewhere. @throws where it fails
 */
export function buildClient(out: string): void {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, ROOT)
  const { tsBuildInfoFile: _info, ...kept } = options
  const program = ts.createProgram(ENTRIES, {
    ...kept,
    outDir: out,
    rootDir: ROOT,
    noEmit: false,
    noCheck: true,
    incremental: false,
    declaration: true,
  })
  // The client uses only types of the contract.
  const write: ts.WriteFileCallback = (path, text) => {
    if (path.startsWith(join(out, 'src')) || path.endsWith('.d.ts')) ts.sys.writeFile(path, text)
  }
  const { diagnostics, emitSkipped } = program.emit(undefined, write)
  if (emitSkipped || diagnostics.length > 0)
    throw new Error(
      ts.formatDiagnostics(diagnostics, { ...ts.sys, getCanonicalFileName: (name) => name, getNewLine: () => '\n' }),
    )
}

if (import.meta.main) buildClient(join(ROOT, 'dist/client'))
