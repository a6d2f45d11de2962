// The commands of the guide's section on secrets work as printed.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import type { RunResult, Secret } from '../../generated/types.ts'
import { MOST_SECRET_BYTES, MOST_SECRETS } from '../../src/settings/secret-service.ts'
import { codeBlocks, readGuidePage, readSection } from '../helpers/documents.ts'
import { call } from '../helpers/http.ts'
import { startServer } from '../helpers/server.ts'
import { REACHING, startReceiver } from '../settings/kit.ts'

const section = readSection(readGuidePage('tokens-and-secrets'), 'Secrets')
const blocks = (language: string) => codeBlocks(section, language)

test('the guide’s secret is set, sent and hidden as described', async () => {
  await using receiver = await startReceiver()
  await using server = await startServer({ environment: REACHING })
  receiver.answer = (headers) => `sunny for ${headers['x-api-key']}`
  const shell = async (block: string): Promise<unknown> => {
    const command = block
      .replaceAll('http://127.0.0.1:7777', server.url)
      .replaceAll('https://weather.example', receiver.url)
    const { stdout } = await promisify(execFile)('sh', ['-c', command])
    return JSON.parse(stdout)
  }
  const [put, create] = blocks('sh')
  const set = (await shell(put!)) as Secret
  const printed = JSON.parse(blocks('json')[0]!) as Secret
  assert.deepEqual({ ...set, updated_at: '' }, { ...printed, updated_at: '' })
  const { id } = (await shell(create!)) as { id: string }
  const { body } = await call<RunResult>(server, 'POST', `/api/workflows/${id}/run`, { body: {} })
  assert.deepEqual(body.outputs, { weather: 'sunny for ***' })
  const [value] = /(?<="value": ")\w+/.exec(put!)!
  assert.deepEqual(
    receiver.requests.map(({ url, headers }) => [url, headers['x-api-key']]),
    [['/now', value]],
  )
})

test('the guide’s limits are those of the service', () => {
  assert.match(section, new RegExp(`Up to ${MOST_SECRETS.toLocaleString('en')} secrets and 1 MiB`))
  assert.equal(MOST_SECRET_BYTES, 1024 * 1024)
})
