// A real browser for tests of pages: Chromium where the machine has one, and a page that remembers what went wrong in it.
import { existsSync } from 'node:fs'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-dev-shm-usage',
]

export const chromium = PLACES.find((place) => existsSync(place)) ?? null

const library = await import('playwright-core').catch(() => null)

const missing: string | false = !library
  ? 'skipped: playwright-core is not installed'
  : chromium === null && 'skipped: Chromium is not installed (Debian: apt-get install chromium)'

// Where a browser is expected, as in continuous integration, to be without one is a failure.
const expected = process.env.SVC_TEST_EXPECT?.split(',').includes('chromium') === true

/** False, or in one line why no browser can be had: the value of a test's `skip`. */
export const skip: string | false = !expected && missing

/**
 * A browser, started with `flags` besides those that tests need.
 * @throws where there is none
 */
export async function launch(flags: readonly string[] = []): Promise<Browser> {
  if (!library || chromium === null) throw new Error(String(missing))
  return library.chromium.launch({ executablePath: chromium, args: [...FLAGS, ...flags] })
}

export interface Visit extends AsyncDisposable {
  readonly page: Page
  /** The origins that the page asked for anything. */
  readonly origins: ReadonlySet<string>
  /** Errors and warnings of the console (violations of the content security policy are among them), uncaught errors, failed requests. */
  readonly problems: readonly string[]
}

/** A page in a browser context of its own: nothing of another visit is stored or cached. */
export async function visit(browser: Browser, options: BrowserContextOptions = {}): Promise<Visit> {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const origins = new Set<string>()
  const problems: string[] = []
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url())
    // `data:` and `blob:` never leave the page.
    if (protocol !== 'data:' && protocol !== 'blob:') origins.add(origin)
  })
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) problems.push(`${message.type()}: ${message.text()}`)
  })
  page.on('pageerror', (error) => problems.push(`uncaught: ${error.message}`))
  page.on('requestfailed', (request) => problems.push(`failed: ${request.url()}`))
  page.on('response', (response) => {
    if (response.status() >= 400) problems.push(`${response.status()}: ${response.url()}`)
  })
  return { page, origins, problems, [Symbol.asyncDispose]: () => context.close() }
}
