// What the reference shows at first: a quick start that runs, nothing that is only planned, and a run that works as it is filled in.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { operationManifest } from '../../generated/operations.ts'
import { call } from '../helpers/http.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { launch, skip, visit } from './browser.ts'

const served = operationManifest.filter(({ implementation }) => implementation !== 'planned')
const hidden = operationManifest.find(({ tag }) => !served.some((operation) => operation.tag === tag))
/** A channel and a command in it that are planned: take others once these are served. */
const HIDDEN_CHANNEL = '#sockets-agent'
const HIDDEN_COMMAND = '#sockets-agent-create_session'

// A suite that is skipped is not counted; a test is.
if (skip) test('the first steps in the reference', { skip })
else describe('the first steps in the reference', { timeout: 300_000 }, inBrowser)

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

  /** Opens `/docs`, and returns what went wrong in it. */
  async function reading(hash: string, look: (page: Page) => Promise<void>, options: BrowserContextOptions = {}) {
    await using visited = await visit(browser, options)
    await visited.page.goto(`${server.url}/docs${hash}`)
    await look(visited.page)
    return [...visited.problems]
  }

  /** As `reading`, where nothing may go wrong. */
  async function readingQuietly(hash: string, look: (page: Page) => Promise<void>) {
    assert.deepEqual(await reading(hash, look), [])
  }

  test('the quick start runs an example at one click, and says how a terminal does', () =>
    readingQuietly('', async (page) => {
      await page.getByRole('button', { name: 'Run' }).click()
      await page.locator('#result').getByText('"Hello, Ada!"').waitFor()
      assert.match(await page.locator('#result').innerText(), /^completed/)
      const command = await page.locator('#command').innerText()
      assert.ok(command.startsWith(`curl -s ${server.url}/api/workflows/greeting/run `), command)
      assert.ok(command.includes(`'{"params":{"name":"Ada"}}'`), command)
      for (const name of ['guide', 'node types', 'workflows of your own']) {
        const href = await page.locator('.quick-start').getByRole('link', { name }).getAttribute('href')
        assert.equal((await fetch(new URL(href!, `${server.url}/docs`))).status, 200, name)
      }
    }))

  test('a refused quick start says why, and takes a token', async () => {
    const { body } = await call<{ token: string }>(server, 'POST', '/api/tokens', { body: { name: 'reader' } })
    const problems = await reading(
      '',
      async (page) => {
        await page.locator('#run').click()
        await page.getByText('Remote access requires authentication. Enter a token, and run it again.').waitFor()
        assert.match(await page.locator('#command').innerText(), /Authorization: Bearer \$TOKEN/)
        await page.getByRole('textbox', { name: 'Token' }).fill(body.token)
        await page.keyboard.press('Enter')
        await page.locator('#result').getByText('"Hello, Ada!"').waitFor()
      },
      // From an address that is not trusted.
      { extraHTTPHeaders: { 'X-Forwarded-For': '203.0.113.1' } },
    )
    assert.ok(
      problems.every((problem) => problem.includes('401')),
      problems.join('\n'),
    )
  })

  test('planned operations are hidden, with tags that have no others, until they are asked for', () =>
    readingQuietly('', async (page) => {
      const first = page.locator('#operations-workflows-runWorkflow')
      await first.waitFor()
      assert.equal(await page.locator('.opblock').count(), served.length)
      assert.equal(await page.locator('.opblock-tag').count(), new Set(served.map(({ tag }) => tag)).size)
      await searched(page, served.length)
      await page.getByLabel('Show planned').check()
      await page.locator('.badge-planned').first().waitFor()
      assert.equal(await page.locator('.opblock').count(), operationManifest.length)
      await searched(page, operationManifest.length)
      await page.reload()
      await first.waitFor()
      assert.equal(await page.locator('.opblock').count(), operationManifest.length)
    }))

  test('planned commands and frames are hidden, with channels that have no others, until they are asked for', () =>
    readingQuietly('#sockets', async (page) => {
      await page.locator('#sockets-ws-run_job').waitFor()
      const planned = page.locator('.card:visible .badge-planned, [data-entry]:visible .dot-planned')
      const channel = page.locator(HIDDEN_CHANNEL)
      assert.deepEqual([await planned.count(), await channel.isVisible()], [0, false])
      await searched(page, await page.locator('.card:visible').count())
      await page.getByLabel('Show planned').check()
      assert.ok((await planned.count()) > 0 && (await channel.isVisible()))
      await searched(page, await page.locator('.card').count())
    }))

  test('a link to a planned operation shows it, and no others', { skip: !hidden }, () =>
    readingQuietly(`#/${hidden?.tag}/${hidden?.operationId}`, async (page) => {
      await page.locator(`#operations-${hidden?.tag}-${hidden?.operationId} .responses-inner`).waitFor()
      assert.equal(await page.locator('.opblock .badge-planned').count(), 1)
    }),
  )

  test('a link to a planned command shows it, and no others', () =>
    readingQuietly(HIDDEN_COMMAND, async (page) => {
      await page.locator(`${HIDDEN_COMMAND}.named`).waitFor()
      assert.equal(await page.locator('.card:visible .badge-planned').count(), 1)
    }))

  test('a run that is tried out gives outputs as it is filled in', () =>
    readingQuietly('#/workflows/runWorkflow', async (page) => {
      const operation = page.locator('#operations-workflows-runWorkflow')
      await operation.getByRole('button', { name: 'Try it out' }).click()
      await operation.getByRole('button', { name: 'Execute' }).click()
      const answer = operation.locator('.live-responses-table .response')
      await answer.waitFor()
      assert.match(await answer.innerText(), /200[\s\S]*"greeting": "Hello, Ada!"/)
    }))
}

/** Holds the number of entries that the search box tells for a search in which some match. */
async function searched(page: Page, all: number) {
  await page.getByRole('searchbox').fill('job')
  await page.locator('#quick-start').waitFor({ state: 'hidden' })
  assert.match(await page.locator('#matches').innerText(), new RegExp(`^\\d+ of ${all}$`))
  await page.getByRole('searchbox').fill('')
}
