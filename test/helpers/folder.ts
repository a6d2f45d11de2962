// Helpers for tests that work in a folder of their own.
import { cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from './server.ts'

/** Wraps a test body: the test gets an empty folder, which is removed after the test. */
export function inFolder(run: (folder: string) => void | Promise<void>): () => Promise<void> {
  return async () => {
    const folder = temporaryFolder()
    try {
      await run(folder)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

/** Copies of a folder, such as a killed process leaves it. Disposal removes them. */
export class FolderCopies implements Disposable {
  readonly paths: string[] = []
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  take(): void {
    const to = `${this.#folder}-${this.paths.length}`
    this.paths.push(to)
    mkdirSync(to)
    for (const name of readdirSync(this.#folder)) cpSync(join(this.#folder, name), join(to, name), { recursive: true })
  }

  [Symbol.dispose](): void {
    for (const path of this.paths) rmSync(path, { recursive: true, force: true })
  }
}
