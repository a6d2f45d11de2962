// The chat example of the README runs as printed, and prints the same output.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { inFolder } from '../helpers/folder.ts'
import { startServer } from '../helpers/server.ts'

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
const section = /\n## Chat\n([\s\S]*?)\n## /.exec(readme)![1]!

test(
  'the chat example that reconnects prints the documented output',
  inFolder(async (folder) => {
    await using server = await startServer()
    const script = /```js\n([\s\S]*?)```/.exec(section)![1]!
    const printed = /```text\n([\s\S]*?)```/.exec(section)![1]!
    const file = join(folder, 'chat.mjs')
    const here = script.replaceAll('127.0.0.1:7777', new URL(server.url).host)
    writeFileSync(file, here)
    symlinkSync(new URL('../../node_modules', import.meta.url), join(folder, 'node_modules'))
    const { stdout } = await promisify(execFile)(process.execPath, [file], { timeout: 10_000 })
    assert.equal(stdout, printed)
  }),
)
