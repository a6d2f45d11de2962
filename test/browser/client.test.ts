// The client in a real browser, on a page of an allowed origin: bundled as others bundle it, through both doors, with uploads and credentials.
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { build } from 'esbuild'
import type { Browser, Page } from 'playwright-core'
import { LOCAL_PRINCIPAL } from '../../src/access/principal.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { launch, skip } from './browser.ts'

const ENTRY = new URL('client-page.ts', import.meta.url).pathname
const PAGE = '<!doctype html><title>A page</title><script type="module" src="/client-page.js"></script>'

/** Uploads of `page` take a second for 20 MB: browsers tell progress every 50 ms, and a quick server has taken it all before. */
async function slowUploads(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page)
  await session.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 0,
    downloadThroughput: -1,
    uploadThroughput: 20_000_000,
  })
}

if (skip) test('the client in a browser', { skip })
else describe('the client in a browser', { timeout: 120_000 }, inBrowser)

function inBrowser() {
  let pages: Server
  let origin: string
  let browser: Browser

  before(async () => {
    const { outputFiles } = await build({
      entryPoints: [ENTRY],
      bundle: true,
      format: 'esm',
      platform: 'browser',
      write: false,
      logLevel: 'silent',
    })
    const script = outputFiles[0]!.contents
    pages = createServer((request, response) => {
      const isScript = request.url === '/client-page.js'
      response.setHeader('Content-Type', isScript ? 'text/javascript' : 'text/html')
      response.end(isScript ? script : PAGE)
    })
    await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve))
    origin = `http://app.test:${(pages.address() as AddressInfo).port}`
    browser = await launch(['--host-resolver-rules=MAP app.test 127.0.0.1'])
  })

  after(async () => {
    await browser?.close()
    pages.closeAllConnections()
    pages.close()
  })

  async function onPage<T>(look: (page: Page) => Promise<T>): Promise<T> {
    const context = await browser.newContext()
    try {
      const page = await context.newPage()
      await page.goto(origin)
      await page.waitForFunction('globalThis.tries !== undefined')
      return await look(page)
    } finally {
      await context.close()
    }
  }

  function tried(page: Page, name: string, server: TestServer, token?: string): Promise<unknown> {
    return page.evaluate(`tries.${name}(${JSON.stringify(server.url)}, ${JSON.stringify(token)})`)
  }

  for (const [door, more] of [
    ['the lifecycle’s own operations', { SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' }],
    ['runs in the background', {}],
  ] as const) {
    test(`runs and follows jobs by ${door}`, async () => {
      await using server = await startServer({ environment: { SVC_ALLOWED_ORIGINS: origin, ...more } })
      await onPage(async (page) => {
        assert.deepEqual(await tried(page, 'run', server), { greeting: 'Hello, Ada!' })
        const { sequences, last, outputs } = (await tried(page, 'follow', server)) as Record<string, unknown[]>
        assert.ok(sequences!.length > 5)
        assert.deepEqual(
          sequences,
          sequences!.map((_, at) => at + 1),
        )
        assert.deepEqual([last, outputs], ['job_terminal', { greeting: 'Hello, Bob!' }])
        assert.equal(await tried(page, 'interface', server), 'name')
      })
    })
  }

  test('uploads with progress', async () => {
    await using server = await startServer({ environment: { SVC_ALLOWED_ORIGINS: origin } })
    await onPage(async (page) => {
      await slowUploads(page)
      const { size, name, told, stored } = (await tried(page, 'upload', server)) as {
        size: number
        name: string
        told: { sent: number; total: number }[]
        stored: number
      }
      assert.deepEqual([size, name, stored], [20_000_000, 'a file.bin', 20_000_000])
      assert.ok(told.length > 2, `${told.length} reports`)
      assert.deepEqual(told.at(-1), { sent: size, total: size })
      assert.equal(await tried(page, 'upload_given_up', server), 'enough')
    })
  })

  test('brings its token to the socket and to requests, and is told when it is refused', async () => {
    const environment = {
      SVC_ALLOWED_ORIGINS: origin,
      SVC_TRUST_LOCALHOST: 'false',
      SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1',
    }
    await using server = await startServer({ environment })
    const { token } = await server.context.access.tokens.access.mint(LOCAL_PRINCIPAL, { name: 'a page' })
    await onPage(async (page) => {
      assert.deepEqual(await tried(page, 'run', server, token), { greeting: 'Hello, Ada!' })
      assert.equal(await tried(page, 'interface', server, token), 'name')
      assert.deepEqual(await tried(page, 'renewed', server, token), ['name', 2])
      for (const name of ['refused_request', 'refused_socket'])
        assert.deepEqual(await tried(page, name, server, 'ntk_wrong'), ['AUTHENTICATION_REQUIRED', 401, false], name)
    })
  })
}
