// A start that fails leaves nothing behind: what its parts made is released, as at a close.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { builtinProvider } from '../../src/models/providers/builtin-echo.ts'
import { StartError } from '../../src/start-error.ts'
import { startServer, temporaryFolder } from '../helpers/server.ts'

test('a start on a port in use releases the data folder and the model providers', async () => {
  const data_dir = temporaryFolder()
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  let ended = 0
  const provider = { ...builtinProvider, name: 'acme', [Symbol.dispose]: () => void ended++ }
  try {
    const { port } = other.address() as AddressInfo
    const start = startServer({ data_dir, config: { port }, providers: [provider] })
    await assert.rejects(start, (error) => error instanceof StartError && /is in use/.test(error.message))
    assert.equal(ended, 1)
    await using again = await startServer({ data_dir })
    assert.equal((await fetch(`${again.url}/health`)).status, 200)
  } finally {
    other.close()
    rmSync(data_dir, { recursive: true, force: true })
  }
})
