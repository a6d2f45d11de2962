// The chat example of the guide runs as printed, and prints the same output.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { codeBlock, readGuidePage, readSection } from '../helpers/documents.ts'
import { inFolder } from '../helpers/folder.ts'
import { startServer } from '../helpers/server.ts'

const section = readSection(readGuidePage('chat-and-agents'), 'Chat')

test(
  'the chat example that reconnects prints the documented output',
  inFolder(async (folder) => {
    await using server = await startServer()
    const script = codeBlock(section, 'js')
    const printed = codeBlock(section, 'text')
    const file = join(folder, 'chat.mjs')
    const here = script.replaceAll('127.0.0.1:7777', new URL(server.url).host)
    writeFileSync(file, here)
    symlinkSync(new URL('../../node_modules', import.meta.url), join(folder, 'node_modules'))
    const { stdout } = await promisify(execFile)(process.execPath, [file], { timeout: 10_000 })
    assert.equal(stdout, printed)
  }),
)
