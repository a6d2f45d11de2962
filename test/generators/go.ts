// Programs in Go around a client in the folder `client`.
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from './tools.ts'

const MODULE = 'module example.org\n\ngo 1.23\n'

/** Compiles and runs `main.go` of a folder; `vet`: unless told otherwise, it is looked at as well. @throws what the compiler, `go vet` or the program complains of */
export async function goProgram(folder: string, given: readonly string[], { vet = true } = {}): Promise<string> {
  if (!existsSync(join(folder, 'go.mod'))) writeFileSync(join(folder, 'go.mod'), MODULE)
  await run('go', ['mod', 'tidy'], folder)
  if (vet) await run('go', ['vet', './...'], folder)
  return await run('go', ['run', '.', ...given], folder)
}
