// The first token when a proxy on this machine is configured: local programs need one, and the guide explains how to get it.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import type { CreatedToken } from '../../generated/types.ts'
import { codeBlocks, readGuidePage, readSection } from '../helpers/documents.ts'
import { call } from '../helpers/http.ts'
import { startServer } from '../helpers/server.ts'

const section = readSection(readGuidePage('authentication'), 'Behind a reverse proxy')
// On other systems loopback has only one address.
const skip = process.platform === 'linux' ? false : 'not Linux'

test('the guide’s first token is minted from another loopback address, and is valid at the proxy’s', {
  skip,
}, async () => {
  const environment = { SVC_TRUSTED_PROXIES: '127.0.0.1' }
  await using server = await startServer({ environment })
  const block = codeBlocks(section, 'sh').find((text) => text.startsWith('curl'))!
  const shell = async (command: string): Promise<unknown> => {
    const { stdout } = await promisify(execFile)('sh', ['-c', command.replace('http://127.0.0.1:7777', server.url)])
    return JSON.parse(stdout)
  }
  const refusal = { error: 'Remote access requires authentication' }
  assert.deepEqual(await shell(block.replace(' --interface 127.0.0.2', '')), refusal)
  const { name, token } = (await shell(block)) as CreatedToken
  assert.equal(name, 'first')
  assert.equal((await call(server, 'GET', '/api/workflows')).status, 401)
  const headers = { Authorization: `Bearer ${token}` }
  assert.equal((await call(server, 'GET', '/api/workflows', { headers })).status, 200)
})
