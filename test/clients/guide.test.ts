// The guide's clients, as they are printed, print what was said to them.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { codeBlocks, readGuidePage } from '../helpers/documents.ts'
import { inFolder } from '../helpers/folder.ts'
import { startServer } from '../helpers/server.ts'

const ROOT = new URL('../../', import.meta.url)
const scripts = codeBlocks(readGuidePage('openai-api'), 'js')

describe('the guide', () => {
  for (const [at, name] of ['openai', '@ai-sdk/openai-compatible'].entries()) {
    test(
      `shows how ${name} asks`,
      inFolder(async (folder) => {
        const script = scripts[at]!
        assert.match(script, new RegExp(`from '${name}'`))
        await using server = await startServer()
        symlinkSync(new URL('node_modules', ROOT), join(folder, 'node_modules'))
        writeFileSync(join(folder, 'ask.mjs'), script.replace('http://127.0.0.1:7777', server.url))
        const { stdout } = await promisify(execFile)(process.execPath, ['ask.mjs'], { cwd: folder, timeout: 20_000 })
        assert.equal(stdout.trim(), 'Good morning')
      }),
    )
  }
})
