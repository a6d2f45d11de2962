// Files whose bytes were changed on disk: no node gets them.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Asset, RunResult, TemporaryAssetUpload } from '../../generated/types.ts'
import { call } from '../helpers/http.ts'
import { keptLog } from '../helpers/kept-log.ts'
import { startServer, type TestServer, until } from '../helpers/server.ts'
import { created, edge, node } from './kit.ts'
import { fieldsForm, fileForm, UPLOADS } from './uploads-kit.ts'

const CONTENT = 'The amount is 100.'

const LOADING = {
  name: 'Loading',
  graph: {
    nodes: [
      node('file', 'input.Any', { name: 'file' }),
      node('load', 'asset.Load'),
      node('text', 'output.Output', { name: 'text' }),
    ],
    edges: [edge('file.output', 'load.asset'), edge('load.text', 'text.value')],
  },
}

/** References to the same text as an asset, an object, and a temporary upload. */
async function stored(server: TestServer): Promise<string[]> {
  const form = fieldsForm({ name: 'note.txt' }, { content: CONTENT })
  const asset = (await call<Asset>(server, 'POST', '/api/assets', form)).body
  const headers = { 'Content-Type': 'text/plain' }
  assert.equal((await call(server, 'PUT', '/api/storage/1/note.txt', { raw: CONTENT, headers })).status, 201)
  const upload = (await call<TemporaryAssetUpload>(server, 'POST', UPLOADS, fileForm(CONTENT))).body
  return [`asset://${asset.id}`, '/api/storage/1/note.txt', upload.uri]
}

/** Changes a bit of the text in every file that contains it. Returns the number of files. */
function flipBits(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const paths = entries
    .filter(({ name }) => !name.startsWith('svc.db'))
    .map(({ parentPath, name }) => join(parentPath, name))
  const holding = paths.filter((path) => readFileSync(path).includes(CONTENT))
  for (const path of holding) {
    const bytes = readFileSync(path)
    bytes[bytes.indexOf('100')]! ^= 8
    writeFileSync(path, bytes)
  }
  return holding.length
}

async function run(server: TestServer, id: string, file: string): Promise<RunResult> {
  return (await call<RunResult>(server, 'POST', `/api/workflows/${id}/run`, { body: { params: { file } } })).body
}

describe('asset.Load', () => {
  test('fails with data_damaged if the bytes are not the stored ones', async () => {
    await using server = await startServer()
    const references = await stored(server)
    const { id } = await created(server, LOADING)
    for (const file of references) assert.equal((await run(server, id, file)).outputs.text, CONTENT)
    assert.ok(flipBits(server.data_dir) >= 2)
    for (const file of references) {
      const { status, error } = await run(server, id, file)
      assert.deepEqual([status, error?.type, error?.node_id], ['failed', 'data_damaged', 'load'], file)
      assert.match(error!.message, /^The bytes of ".*" are damaged/)
    }
  })
})

describe('a download of a damaged file', () => {
  const headers = { 'Content-Type': 'text/plain' }
  const put = async (server: TestServer, content: string) =>
    assert.equal((await call(server, 'PUT', '/api/storage/1/note.txt', { raw: content, headers })).status, 201)

  test('gives an error with a code if the whole file is read at once; ranges and intact files are served', async () => {
    await using server = await startServer()
    await put(server, CONTENT)
    assert.equal((await call(server, 'GET', '/api/storage/1/note.txt')).text, CONTENT)
    flipBits(server.data_dir)
    const { status, text } = await call(server, 'GET', '/api/storage/1/note.txt')
    assert.deepEqual([status, text.includes('data_damaged')], [500, true], text)
    const part = await call(server, 'GET', '/api/storage/1/note.txt', { headers: { Range: 'bytes=0-2' } })
    assert.deepEqual([part.status, part.text], [206, 'The'])
  })

  test('breaks off before the last bytes of a longer file, and logs the cause', async () => {
    const log = keptLog()
    await using server = await startServer({ log: log.log })
    const content = CONTENT + 'x'.repeat(1_000_000)
    await put(server, content)
    const url = `${server.url}/api/storage/1/note.txt`
    assert.equal(await (await fetch(url)).text(), content)
    flipBits(server.data_dir)
    const answer = await fetch(url)
    assert.equal(answer.status, 200)
    let length = 0
    await assert.rejects(async () => {
      for await (const piece of answer.body!) length += piece.length
    })
    assert.ok(length < content.length)
    await until('the log', () => log.lines.some((line) => line.includes('not those that were stored')))
  })
})
