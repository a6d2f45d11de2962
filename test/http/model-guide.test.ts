// The guide's completion gives the printed answer, but for its id and time.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import type { ChatCompletion } from '../../generated/types.ts'
import { codeBlock, readGuidePage } from '../helpers/documents.ts'
import { startServer } from '../helpers/server.ts'

const page = readGuidePage('openai-api')

test('the guide’s completion by curl gives the printed answer', async () => {
  await using server = await startServer()
  const command = codeBlock(page, 'sh').replace('http://127.0.0.1:7777', server.url)
  const { stdout } = await promisify(execFile)('sh', ['-c', command])
  const [given, printed] = [stdout, codeBlock(page, 'json')].map((text) => JSON.parse(text) as ChatCompletion)
  const { id, created } = given!
  assert.match(id, /^chatcmpl-/)
  assert.ok(Math.abs(created - Date.now() / 1000) < 60)
  assert.deepEqual(given, { ...printed, id, created })
})
