// What a page in a real browser can do with a server on the same machine: one of a foreign origin nothing, one of an allowed origin
// everything, and content of users nothing in the name of the service.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { call } from '../helpers/http.ts'
import { startServer, type TestServer, until } from '../helpers/server.ts'
import { stored } from '../http/storage-kit.ts'
import { launch, skip } from './browser.ts'

const ATTEMPTS = readFileSync(new URL('attempts.js', import.meta.url))
const PAGE = '<!doctype html><title>A page</title><body><script src="/attempts.js"></script>'
const RUN = '/api/workflows/greeting/run'
const RUN_BODY = JSON.stringify({ params: { name: 'Ada' } })
/** A GIF of one pixel. */
const IMAGE = Buffer.from('R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw==', 'base64')

if (skip) test('pages of other origins in a browser', { skip })
else describe('pages of other origins in a browser', { timeout: 300_000 }, inBrowser)

function inBrowser() {
  const pages = createServer((request, response) => {
    const script = request.url === '/attempts.js'
    response.setHeader('Content-Type', script ? 'text/javascript' : 'text/html')
    response.end(script ? ATTEMPTS : PAGE)
  })
  let port: number
  let browser: Browser

  before(async () => {
    await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve))
    port = (pages.address() as AddressInfo).port
    const names = ['evil.test', 'app.test', 'rebind.test'].map((name) => `MAP ${name} 127.0.0.1`).join(', ')
    browser = await launch([`--host-resolver-rules=${names}`])
  })

  after(async () => {
    await browser?.close()
    pages.closeAllConnections()
    pages.close()
  })

  async function at(url: string, look: (page: Page) => Promise<void>): Promise<void> {
    const context = await browser.newContext({ acceptDownloads: false })
    try {
      const page = await context.newPage()
      await page.goto(url)
      await look(page)
    } finally {
      await context.close()
    }
  }

  /** Makes one of the attempts of `attempts.js`. */
  function attempt(page: Page, name: string, ...given: string[]): Promise<string> {
    return page.evaluate(`attempts.${name}(${given.map((one) => JSON.stringify(one)).join(', ')})`)
  }

  test('a page of a foreign origin reads nothing', async () => {
    await using server = await startServer()
    const image = await stored(server, IMAGE, { content_type: 'image/gif' })
    const script = await stored(server, 'globalThis.leaked = 1', { content_type: 'text/javascript' })
    const { body } = await call<{ job_id: string }>(server, 'POST', RUN, { body: JSON.parse(RUN_BODY) })
    const [picture, code] = [image, script].map(({ storage_key }) => `${server.url}/api/storage/${storage_key}`)
    const list = `${server.url}/api/workflows`
    const attempts: [string, string][] = [
      ['read', list],
      ['read', `${server.url}/health`],
      ['read', `${server.url}/openapi.json`],
      ['read_opaquely', list],
      ['read_opaquely', picture!],
      ['read_with_credentials', list],
      ['script', list],
      ['script', code!],
      ['script', `${server.url}/docs/page.js`],
      ['module', code!],
      ['image', picture!],
      ['image', `${server.url}/docs/icon.svg`],
      ['video', picture!],
      ['style', `${server.url}/docs/page.css`],
      ['events', `${server.url}/api/jobs/${body.job_id}/events`],
    ]
    await at(`http://evil.test:${port}/`, async (page) => {
      for (const [name, url] of attempts) assert.equal(await attempt(page, name, url), 'blocked', `${name} ${url}`)
      assert.equal(await page.evaluate('globalThis.leaked === undefined'), true)
      for (const path of ['/docs', '/api/workflows', '/health', new URL(picture!).pathname]) {
        await attempt(page, 'frame', server.url + path)
        // What is shown in the place of a refused frame is a page of the browser itself.
        const frame = page.frames().at(-1)!
        await until(`an end of the frame of ${path}`, () => frame.url() !== '' && frame.url() !== 'about:blank')
        assert.match(frame.url(), /^chrome-error:/, path)
      }
    })
  })

  test('a page of a foreign origin runs nothing, and its tries are refused', async () => {
    await using server = await startServer()
    const url = server.url + RUN
    await at(`http://evil.test:${port}/`, async (page) => {
      assert.equal(await attempt(page, 'post', url, RUN_BODY), 'blocked')
      for (const name of ['post_as_text', 'post_as_form', 'beacon', 'form']) await attempt(page, name, url, RUN_BODY)
      assert.equal(await attempt(page, 'socket', `${server.url.replace('http', 'ws')}/ws`), 'blocked')
      // The four that need not ask first did arrive.
      await until('four refusals', async () => {
        const { text } = await call<string>(server, 'GET', '/metrics')
        return /operation="runWorkflow",status="401"\} 4$/m.test(text)
      })
    })
    const { body } = await call<unknown[]>(server, 'GET', '/api/jobs')
    assert.deepEqual(body, [])
  })

  test('a page whose name was bound anew to this machine is not its local user', async () => {
    await using server = await startServer()
    const rebound = server.url.replace('127.0.0.1', 'rebind.test')
    await at(`${rebound}/docs`, async (page) => {
      const ask = (path: string, options: object) =>
        page.evaluate<number>(`fetch(${JSON.stringify(path)}, ${JSON.stringify(options)}).then(({ status }) => status)`)
      assert.equal(await ask('/health', {}), 200)
      assert.equal(await ask('/api/workflows', {}), 401)
      const headers = { 'Content-Type': 'application/json' }
      assert.equal(await ask(RUN, { method: 'POST', headers, body: RUN_BODY }), 401)
      const socket = `new Promise((resolve) => {
        const socket = new WebSocket(${JSON.stringify(`${rebound.replace('http', 'ws')}/ws`)})
        socket.onopen = () => resolve('open')
        socket.onerror = () => resolve('blocked')
      })`
      assert.equal(await page.evaluate(socket), 'blocked')
    })
    assert.deepEqual((await call(server, 'GET', '/api/jobs')).body, [])
  })

  test('the same page succeeds from an allowed origin', async () => {
    const origin = `http://app.test:${port}`
    await using server = await startServer({ environment: { SVC_ALLOWED_ORIGINS: origin } })
    const { status } = await call(server, 'POST', '/api/workflows', { body: await example(server) })
    assert.equal(status, 201)
    await at(origin, async (page) => {
      assert.match(await attempt(page, 'read', `${server.url}/api/workflows`), /^200 \[\{"id":/)
      assert.match(await attempt(page, 'post', server.url + RUN, RUN_BODY), /^200 \{"job_id":/)
      assert.match(await attempt(page, 'read', `${server.url}/nowhere`), /^404 /)
      const socket = `${server.url.replace('http', 'ws')}/ws`
      assert.equal(await attempt(page, 'socket', socket), 'open')
      assert.equal(await attempt(page, 'run_by_socket', socket, 'greeting'), 'completed')
      const [job] = (await call<{ job_id: string }[]>(server, 'GET', '/api/jobs')).body
      assert.equal(await attempt(page, 'events', `${server.url}/api/jobs/${job!.job_id}/events`), 'open')
    })
    assert.equal((await call<unknown[]>(server, 'GET', '/api/jobs')).body.length, 2)
    // Another origin is still a foreign one to this server.
    await at(`http://evil.test:${port}/`, async (page) =>
      assert.equal(await attempt(page, 'read', `${server.url}/api/workflows`), 'blocked'),
    )
  })

  test('content of users runs no script in the origin of the service', async () => {
    await using server = await startServer()
    const run = "fetch('/api/health?ran'); document.title = 'ran'"
    const svg = (inside: string) => `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">${inside}</svg>`
    const contents: [string, string][] = [
      ['text/html', `<!doctype html><script>${run}</script>`],
      ['application/xhtml+xml', `<html xmlns="http://www.w3.org/1999/xhtml"><script>${run}</script></html>`],
      ['image/svg+xml', svg(`<script>${run}</script>`)],
      ['text/xml', svg(`<script>${run}</script>`)],
      ['application/xml', svg(`<script>${run}</script>`)],
      ['application/rss+xml', svg(`<script>${run}</script>`)],
      ['text/plain', `<!doctype html><script>${run}</script>`],
      ['image/png', `<!doctype html><script>${run}</script>`],
      ['application/octet-stream', `<!doctype html><script>${run}</script>`],
      ['application/pdf', `%PDF-1.4\n<script>${run}</script>`],
      ['text/javascript', run],
      ['text/x-made-up', `<!doctype html><script>${run}</script>`],
    ]
    const asked: string[] = []
    await at(`${server.url}/health`, async (page) => {
      page.on('request', (request) => asked.push(request.url()))
      for (const [content_type, content] of contents) {
        const { storage_key } = await stored(server, content, { content_type })
        // What is saved and not shown ends the navigation with an error.
        await page.goto(`${server.url}/api/storage/${storage_key}`).catch(() => null)
        assert.notEqual(await page.title(), 'ran', content_type)
      }
      // The page that looks is able to ask: the silence above is not its own.
      await page.goto(`${server.url}/docs`)
      await page.evaluate("fetch('/api/health?able')")
    })
    assert.equal(asked.filter((url) => url.endsWith('?able')).length, 1)
    assert.deepEqual(
      asked.filter((url) => url.endsWith('?ran')),
      [],
    )
    assert.ok(asked.filter((url) => url.includes('/api/storage/')).length >= contents.length)
  })

  async function example(server: TestServer): Promise<unknown> {
    const { body } = await call<{ name: string; graph: unknown }>(server, 'GET', '/api/workflows/examples/greeting')
    return { name: body.name, graph: body.graph }
  }
}
