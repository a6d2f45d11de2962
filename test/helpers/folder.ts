// Tests that work in a folder of their own.
import { rmSync } from 'node:fs'
import { temporaryFolder } from './server.ts'

/** The body of a test that gets an empty folder, which is gone when it is over. */
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
