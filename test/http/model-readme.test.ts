// The README's completion gives the printed answer, but for its id and time.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { promisify } from 'node:util'
import type { ChatCompletion } from '../../generated/types.ts'
import { startServer } from '../helpers/server.ts'

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
const section = /\n### Use it as an OpenAI server\n([\s\S]*?)\n##/.exec(readme)![1]!

function block(language: string): string {
  return new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(section)![1]!
}

test('the README’s completion by curl gives the printed answer', async () => {
  await using server = await startServer()
  const command = block('sh').replace('http://127.0.0.1:7777', server.url)
  const { stdout } = await promisify(execFile)('sh', ['-c', command])
  const [given, printed] = [stdout, block('json')].map((text) => JSON.parse(text) as ChatCompletion)
  const { id, created } = given!
  assert.match(id, /^chatcmpl-/)
  assert.ok(Math.abs(created - Date.now() / 1000) < 60)
  assert.deepEqual(given, { ...printed, id, created })
})
