// The web server that the examples with a `url` talk to in tests: a list in pages, a flaky service, and a rate.
import { httpServer, type TestServer } from '../net/servers.ts'

/** The URL that the README gives. */
export const PRINTED = 'http://127.0.0.1:8080'

/** The path of each example that needs a `url`, as its outputs assume. */
export const PATHS: Readonly<Record<string, string>> = {
  'open-issues': '/issues',
  'order-status': '/orders/1001',
  'convert-money': '/rate-that-fails',
}

const STATES = ['open', 'closed', 'open', 'open', 'open']
const PER_PAGE = 2
const ORDER = { id: 1001, status: 'packed', due: '2026-12-03' }

export interface ExamplesWeb extends TestServer {
  /** The requested paths, in order. */
  readonly asked: readonly string[]
}

interface Answer {
  status?: number
  headers?: Record<string, string>
  body: unknown
}

function page(number: number): Answer {
  const issues = STATES.map((state, index) => ({ title: `Issue ${index + 1}`, state }))
  const isLast = number * PER_PAGE >= issues.length
  const headers: Record<string, string> = isLast ? {} : { link: `</issues?page=${number + 1}>; rel="next"` }
  return { headers, body: issues.slice((number - 1) * PER_PAGE, number * PER_PAGE) }
}

export async function examplesWeb(): Promise<ExamplesWeb> {
  const asked: string[] = []
  const times = (path: string) => asked.filter((one) => one === path).length
  const failed: Answer = { status: 503, body: {} }
  const answers: Record<string, (query: URLSearchParams) => Answer> = {
    '/issues': (query) => page(Number(query.get('page') ?? 1)),
    // Two failures precede each answer.
    '/orders/1001': () => (times('/orders/1001') % 3 === 0 ? { body: ORDER } : failed),
    '/rate': () => ({ body: { rate: 1.2 } }),
  }
  const server = await httpServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, PRINTED)
    asked.push(request.url!)
    const { status = 200, headers = {}, body } = answers[pathname]?.(searchParams) ?? failed
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
  })
  return Object.assign(server, { asked })
}
