// The guide and the node catalogue in a browser: nothing from other servers, readable in each size and colour, and a search for nodes.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { startServer, type TestServer } from '../helpers/server.ts'
import { launch, skip, visit } from './browser.ts'

const PAGES = ['guide', 'guide/settings', 'guide/typescript-client', 'nodes', 'nodes/http.Request']
const SIZES = { desktop: { width: 1300, height: 900 }, phone: { width: 390, height: 800 } }

// A suite that is skipped is not counted; a test is.
if (skip) test('the guide in a browser', { skip })
else describe('the guide in a browser', { timeout: 120_000 }, inBrowser)

function inBrowser() {
  let server: TestServer
  let browser: Browser

  before(async () => {
    server = await startServer()
    browser = await launch()
  })

  after(async () => {
    await browser?.close()
    await server?.[Symbol.asyncDispose]()
  })

  /** Opens the page, and afterwards checks what holds for every visit. */
  async function reading(path: string, look: (page: Page) => Promise<void>, options: BrowserContextOptions = {}) {
    await using visited = await visit(browser, options)
    await visited.page.goto(`${server.url}/docs/${path}`)
    await look(visited.page)
    assert.deepEqual([...visited.origins], [server.url])
    assert.deepEqual(visited.problems, [])
  }

  for (const [size, viewport] of Object.entries(SIZES))
    for (const colorScheme of ['light', 'dark'] as const)
      test(`no page scrolls sideways on a ${size} in ${colorScheme} colours`, async () => {
        for (const path of PAGES)
          await reading(
            path,
            async (page) => {
              const widths = await page.evaluate('[document.documentElement.scrollWidth, innerWidth]')
              const [content, window] = widths as [number, number]
              assert.ok(content <= window, `${path} is ${content} wide in ${window}`)
            },
            { viewport, colorScheme },
          )
      })

  test('the search box of the catalogue narrows the list, and tells how many node types are left', () =>
    reading('nodes', async (page) => {
      await page.keyboard.press('/')
      await page.keyboard.type('parquet')
      const shown = await page.locator('.node-types dt:visible').allTextContents()
      assert.ok(shown.length > 0 && shown.length < 20, String(shown))
      assert.match(await page.locator('#matches').innerText(), new RegExp(`^${shown.length} of \\d+$`))
      await page.keyboard.press('Control+A')
      await page.keyboard.type('no node has these words')
      assert.equal(await page.locator('.namespace:visible').count(), 0)
    }))

  test('the guide shows no search box, and its links lead to the reference and back', () =>
    reading('guide', async (page) => {
      assert.equal(await page.locator('#search-box').isVisible(), false)
      await follow(page, 'node catalogue')
      await follow(page, 'text.Case')
      assert.equal(await page.locator('h1').innerText(), 'text.Case')
      await follow(page, 'Sockets')
      await page.locator('#view-sockets h2').first().waitFor()
      await follow(page, 'Guide')
      assert.equal(await page.locator('h1').innerText(), 'Guide')
    }))

  test('the choice of colours holds for the guide and the reference', () =>
    reading('guide', async (page) => {
      await page.locator('#theme').click()
      await page.locator('#theme').click()
      assert.equal(await page.locator('html').getAttribute('class'), 'dark-mode')
      await page.goto(`${server.url}/docs/nodes`)
      assert.equal(await page.locator('html').getAttribute('class'), 'dark-mode')
    }))
}

/** Follows a link once the page has loaded everything, its icon too: what is still under way would fail. */
async function follow(page: Page, name: string): Promise<void> {
  await page.waitForLoadState('networkidle')
  await page.getByRole('link', { name }).click()
}
