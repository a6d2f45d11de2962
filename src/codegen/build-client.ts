// The client as other projects take it: plain JavaScript with declarations, in `dist/client`. It needs no Node that runs TypeScript.
import { join } from 'node:path'
import ts from 'typescript'

const ROOT = join(import.meta.dirname, '../..')
const ENTRIES = ['node.ts', 'browser.ts'].map((name) => join(ROOT, 'src/client', name))

/** Writes the files that the entries reach under `out`, by their paths from the root. Types are checked elsewhere. @throws where it cannot */
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
  // Of the contract only types are used.
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
