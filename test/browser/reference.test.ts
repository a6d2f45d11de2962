// The reference at `/docs` as a reader sees it: both documents whole, nothing from elsewhere, readable in every size and colour.
// Screenshots go to the folder that SVC_TEST_SCREENSHOTS names, else to a temporary one.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { operationManifest } from '../../generated/operations.ts'
import { startServer, type TestServer, temporaryFolder, until } from '../helpers/server.ts'
import { launch, skip, type Visit, visit } from './browser.ts'

const DESKTOP = { width: 1300, height: 900 }
const PHONE = { width: 390, height: 800 }

interface Message {
  'x-svc-implementation': string
}

// A suite that is skipped is not counted; a test is.
if (skip) test('the reference in a browser', { skip })
else describe('the reference in a browser', { timeout: 300_000 }, inBrowser)

function inBrowser() {
  const kept = process.env.SVC_TEST_SCREENSHOTS ?? null
  const folder = kept ?? temporaryFolder()
  let server: TestServer
  let browser: Browser

  before(async () => {
    server = await startServer()
    browser = await launch()
  })

  after(async () => {
    await browser?.close()
    await server?.[Symbol.asyncDispose]()
    if (kept === null) rmSync(folder, { recursive: true, force: true })
  })

  /** Opens `/docs` and, when `look` is done, holds the visit against what is true of every one. */
  async function reading(hash: string, look: (page: Page) => Promise<void>, options: BrowserContextOptions = {}) {
    await using visited = await visit(browser, { viewport: DESKTOP, colorScheme: 'light', ...options })
    await visited.page.goto(`${server.url}/docs${hash}`)
    await look(visited.page)
    assertQuiet(visited)
  }

  function assertQuiet({ origins, problems }: Visit) {
    assert.deepEqual([...origins], [server.url])
    assert.deepEqual(problems, [])
  }

  async function shoot(page: Page, name: string) {
    const path = join(folder, `${name}.png`)
    await page.screenshot({ path })
    assert.ok(statSync(path).size > 10_000, `${name} shows next to nothing`)
  }

  async function assertNoSidewaysScrolling(page: Page) {
    const wide = await page.locator('html').evaluate((root: { scrollWidth: number }) => root.scrollWidth)
    assert.ok(wide <= page.viewportSize()!.width, `the page is ${wide} px wide`)
  }

  test('shows every HTTP operation with its marker', () =>
    reading('', async (page) => {
      await page.locator('#operations-workflows-runWorkflow').waitFor()
      await showPlanned(page)
      await page
        .locator('.opblock')
        .nth(operationManifest.length - 1)
        .waitFor()
      assert.equal(await page.locator('.opblock').count(), operationManifest.length)
      for (const { tag, operationId, implementation } of operationManifest) {
        const labels = page.locator(`#operations-${tag}-${operationId} .badges .badge`)
        assert.equal(await labels.first().textContent(), implementation, operationId)
      }
    }))

  test('opens the operation that an address names, with its content', () =>
    reading('#/workflows/runWorkflow', async (page) => {
      const operation = page.locator('#operations-workflows-runWorkflow')
      await operation.locator('.responses-inner').waitFor()
      const text = await operation.innerText()
      for (const words of ['/api/workflows/{id}/run', 'runWorkflow', 'Request body', 'params', '422']) {
        assert.ok(text.includes(words), `${words} is missing`)
      }
      const { y } = (await operation.boundingBox())!
      assert.ok(y > 40 && y < 300, `the operation stands at ${y} px`)
      await shoot(page, 'http-light')
    }))

  test('tries out what is served against the server it came from, and nothing else', () =>
    reading('', async (page) => {
      const served = page.locator('#operations-health-getReady')
      await served.click()
      await served.getByRole('button', { name: 'Try it out' }).click()
      await served.getByRole('button', { name: 'Execute' }).click()
      const answer = served.locator('.live-responses-table .response')
      await answer.waitFor()
      assert.match(await answer.innerText(), /200[\s\S]*"status": "ok"/)
      const planned = operationManifest.find(({ implementation }) => implementation === 'planned')
      if (!planned) return
      await showPlanned(page)
      const refused = page.locator(`#operations-${planned.tag}-${planned.operationId}`)
      await refused.click()
      await refused.locator('.responses-inner').waitFor()
      assert.equal(await refused.getByRole('button', { name: 'Try it out' }).count(), 0)
    }))

  test('uploads a file with the fields that were filled in, whatever their order', () =>
    reading('', async (page) => {
      const operation = page.locator('#operations-assets-createAsset')
      await operation.click()
      await operation.getByRole('button', { name: 'Try it out' }).click()
      const field = (name: string) => operation.locator(`tr[data-property-name="${name}"]`)
      await field('file')
        .locator('input')
        .setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('A') })
      await field('sha256').locator('input').fill(createHash('sha256').update('A').digest('hex'))
      await field('metadata').locator('textarea').fill('{"year": 2026}')
      await operation.getByRole('button', { name: 'Execute' }).click()
      const answer = operation.locator('.live-responses-table .response')
      await answer.waitFor()
      assert.match(await answer.innerText(), /201[\s\S]*"name": "a.txt"[\s\S]*"year": 2026/)
    }))

  test('shows every message of every socket with its marker', () =>
    reading('#sockets', async (page) => {
      const response = await fetch(`${server.url}/asyncapi.json`)
      const { channels } = (await response.json()) as {
        channels: Record<string, { messages: Record<string, Message> }>
      }
      await page.locator('#sockets-ws-run_job').waitFor()
      await showPlanned(page)
      const marked = Object.entries(channels).flatMap(([channel, { messages }]) =>
        Object.entries(messages).map(([key, message]) => [channel, key, message['x-svc-implementation']] as const),
      )
      assert.equal(await page.locator('article.card').count(), marked.length)
      for (const [channel, key, marker] of marked) {
        const labels = await page.locator(`#sockets-${channel}-${key} header .badge`).allTextContents()
        assert.ok(labels.includes(marker), `${channel} ${key} is ${marker}, and shows ${labels.join(', ')}`)
      }
      await shoot(page, 'sockets-light')
    }))

  test('shows the data, the answers and the schema of a command', () =>
    reading('#sockets-ws-run_job', async (page) => {
      const card = page.locator('#sockets-ws-run_job')
      const properties = card.locator('table.properties').first()
      await properties.waitFor()
      for (const name of ['job_id', 'workflow_id', 'graph', 'params', 'execution_options']) {
        assert.equal(await properties.getByRole('rowheader', { name, exact: true }).count(), 1, name)
      }
      const graph = properties.getByRole('row').filter({ has: page.getByRole('rowheader', { name: 'graph' }) })
      await graph.locator('summary').first().click()
      await graph.getByRole('rowheader', { name: /^nodes/ }).waitFor()
      await card.getByText('Example', { exact: false }).first().click()
      assert.match(await card.locator('pre.json').first().innerText(), /"command": "run_job"/)
      await card.getByText('Schema as JSON').click()
      assert.match(await card.locator('pre.json').last().innerText(), /"const": "run_job"/)
      await card.getByRole('link', { name: 'job_ack' }).click()
      await page.locator('#sockets-ws-job_ack.named').waitFor()
    }))

  test('lets nothing from elsewhere in, and the test would notice', async () => {
    await using visited = await visit(browser)
    await visited.page.goto(`${server.url}/docs#sockets`)
    await visited.page.locator('#sockets-ws-run_job').waitFor()
    assertQuiet(visited)
    await visited.page.locator('body').evaluate(addPicture, 'http://elsewhere.invalid/picture.png')
    await until('the refusal', () => visited.problems.some((problem) => problem.includes('Content Security Policy')))
  })

  test('searches both documents', () =>
    reading('#sockets', async (page) => {
      await page.locator('#sockets-ws-run_job').waitFor()
      await page.keyboard.press('/')
      await page.keyboard.type('cancel_job')
      await page.locator('#sockets-ws-run_job').waitFor({ state: 'hidden' })
      assert.ok(await page.locator('#sockets-ws-cancel_job').isVisible())
      assert.match(await page.locator('#matches').innerText(), /^\d+ of \d+$/)
      await page.getByRole('searchbox').fill('post /api/workflows/{id}/run')
      await page.getByText('No message matches.').waitFor()
      await page.getByRole('link', { name: 'HTTP', exact: true }).click()
      await page.locator('#operations-workflows-runWorkflow').waitFor()
      await page.locator('#operations-health-getReady').waitFor({ state: 'detached' })
      await page.getByRole('searchbox').fill('')
      await page.locator('#operations-health-getReady').waitFor()
    }))

  test('is dark where the system is, and as the reader chooses', () =>
    reading(
      '#sockets',
      async (page) => {
        const ground = () => page.locator('body').evaluate(backgroundOf)
        await page.locator('#sockets-ws-run_job').waitFor()
        const dark = await ground()
        await shoot(page, 'sockets-dark')
        await page.getByRole('button', { name: 'Colours: as the system' }).click()
        const light = await ground()
        assert.ok(brightness(dark) < 60 && brightness(light) > 200, `${dark} and ${light}`)
        await page.reload()
        await page.getByRole('button', { name: 'Colours: light' }).click()
        assert.equal(await ground(), dark)
        await page.getByRole('link', { name: 'HTTP', exact: true }).click()
        await page.locator('#operations-health-getReady').waitFor()
        await shoot(page, 'http-dark')
      },
      { colorScheme: 'dark' },
    ))

  test('fits a phone', () =>
    reading(
      '#sockets-ws-run_job',
      async (page) => {
        await page.locator('#sockets-ws-run_job table').first().waitFor()
        await assertNoSidewaysScrolling(page)
        await shoot(page, 'sockets-narrow')
        await page.getByRole('link', { name: 'HTTP', exact: true }).click()
        await page.locator('#operations-health-getReady').click()
        await page.locator('#operations-health-getReady .responses-inner').waitFor()
        await assertNoSidewaysScrolling(page)
        await shoot(page, 'http-narrow')
      },
      { viewport: PHONE },
    ))
}

/** Shows what is hidden at first, as it is not served yet. */
async function showPlanned(page: Page): Promise<void> {
  await page.getByLabel('Show planned').check()
}

interface BrowserParent {
  insertAdjacentHTML(where: string, html: string): void
}

/** Runs in the page. */
function addPicture(element: BrowserParent, address: string): void {
  element.insertAdjacentHTML('beforeend', `<img alt="" src="${address}">`)
}

interface BrowserElement {
  ownerDocument: { defaultView: { getComputedStyle(element: unknown): { backgroundColor: string } } }
}

/** Runs in the page. */
function backgroundOf(element: BrowserElement): string {
  return element.ownerDocument.defaultView.getComputedStyle(element).backgroundColor
}

/** The mean of the three channels of `rgb(…)`, 0 to 255. */
function brightness(colour: string): number {
  const channels = (colour.match(/\d+/g) ?? []).slice(0, 3).map(Number)
  return channels.reduce((sum, channel) => sum + channel, 0) / 3
}
