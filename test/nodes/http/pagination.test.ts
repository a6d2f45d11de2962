// http.Pages: each way to find the next page, against servers that count their requests; and Link headers.
import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { isRetrySafe } from '../../../src/engine/node-api/node-metadata.ts'
import { findLink } from '../../../src/nodes/http/link-header.ts'
import { builtinRegistry } from '../../../src/nodes/registry.ts'
import { graph, node, sink } from '../../engine/kit.ts'
import { takesLess } from '../../helpers/patience.ts'
import { scaled } from '../../helpers/scale.ts'
import { bodyOf, httpServer } from '../../net/servers.ts'
import { runHttp } from '../http-run.ts'

const ALL = Array.from({ length: 7 }, (_, at) => `item ${at}`)

/** Answers with JSON and headers by URL, and records the URLs. */
function serving(answer: (url: URL) => [unknown, Record<string, string>?]) {
  const asked: string[] = []
  const handle: RequestListener = (request, response) => {
    asked.push(request.url!)
    const [content, headers = {}] = answer(new URL(request.url!, 'http://x'))
    response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(content))
  }
  return { asked, handle }
}

interface Found {
  items: unknown[]
  pages: unknown[]
  error: string | null
  message: string
  warnings: unknown[]
}

/** The items and page numbers of all pages, up to `take` items. */
async function read(handle: RequestListener, data: Record<string, unknown>, path = '/', take?: number): Promise<Found> {
  await using server = await httpServer(handle)
  const pages = node('p', 'http.Pages', { url: server.url + path, ...data })
  const of =
    take === undefined
      ? graph([pages, sink('items'), sink('pages')], ['p.item->items.value', 'p.page->pages.value'])
      : graph(
          [pages, node('cut', 'control.Take', { count: take }), sink('items')],
          ['p.item->cut.item', 'cut.item->items.value'],
        )
  const { outcome, observer } = await runHttp(of)
  const values = (id: string) =>
    observer
      .named('output')
      .filter((call) => call[1] === id)
      .map((call) => call[3])
  const error = outcome.status === 'failed' ? outcome.error : null
  const warnings = observer.named('log').map((call) => call[3])
  return {
    items: values('items'),
    pages: values('pages'),
    error: error?.type ?? null,
    message: error?.message ?? '',
    warnings,
  }
}

describe('http.Pages', () => {
  test('follows Link headers', async () => {
    const { asked, handle } = serving((url) => {
      const page = Number(url.searchParams.get('page') ?? 1)
      const next: Record<string, string> =
        page < 3 ? { link: `</?page=1>; rel=first, <?page=${page + 1}>; rel="next"; title="a, b"` } : {}
      return [ALL.slice((page - 1) * 3, page * 3), next]
    })
    const found = await read(handle, { mode: 'link' })
    assert.deepEqual([found.items, found.pages], [ALL, [1, 1, 1, 2, 2, 2, 3]])
    assert.deepEqual(asked, ['/', '/?page=2', '/?page=3'])
  })

  test('follows cursors', async () => {
    const { asked, handle } = serving((url) => {
      const from = Number(url.searchParams.get('after') ?? 0)
      return [{ data: { list: ALL.slice(from, from + 4) }, meta: { next: from + 4 < ALL.length ? from + 4 : null } }]
    })
    const data = { mode: 'cursor', items_path: 'data.list', cursor_path: 'meta.next', cursor_parameter: 'after' }
    assert.deepEqual((await read(handle, { ...data, query: { size: 4 } }, '/l?x=1')).items, ALL)
    assert.deepEqual(asked, ['/l?x=1&size=4', '/l?x=1&size=4&after=4'])
  })

  test('follows cursors that are URLs', async () => {
    const { handle, asked } = serving((url) => [
      { results: [url.pathname], next: url.pathname === '/' ? `http://${'HOST'}/second` : '' },
    ])
    const hosted: RequestListener = (request, response) => {
      const end = response.end.bind(response)
      response.end = ((text: string) => end(text.replace('HOST', request.headers.host!))) as typeof response.end
      handle(request, response)
    }
    assert.deepEqual((await read(hosted, { mode: 'cursor', items_path: 'results' })).items, ['/', '/second'])
    assert.deepEqual(asked, ['/', '/second'])
  })

  test('counts pages, from the one in the URL', async () => {
    const serve = () =>
      serving((url) => [
        ALL.slice(Number(url.searchParams.get('p') ?? 1) * 2, Number(url.searchParams.get('p') ?? 1) * 2 + 2),
      ])
    const first = serve()
    assert.deepEqual((await read(first.handle, { mode: 'page', page_parameter: 'p' })).items, ALL.slice(2))
    assert.deepEqual(first.asked, ['/', '/?p=2', '/?p=3', '/?p=4'])
    const zero = serve()
    assert.deepEqual((await read(zero.handle, { mode: 'page', page_parameter: 'p' }, '/?p=0')).items, ALL)
  })

  test('counts items', async () => {
    const { asked, handle } = serving((url) => {
      const from = Number(url.searchParams.get('offset') ?? 0)
      return [ALL.slice(from, from + 5)]
    })
    assert.deepEqual((await read(handle, { mode: 'offset' })).items, ALL)
    assert.deepEqual(asked, ['/', '/?offset=5', '/?offset=7'])
  })

  test('give no items of an empty list', async () => {
    for (const mode of ['link', 'page', 'offset', 'cursor']) {
      const { asked, handle } = serving(() => [[]])
      const found = await read(handle, { mode })
      assert.deepEqual([found.items, found.error, asked.length], [[], null, 1])
    }
  })

  test('stop at max_pages, and log that', async () => {
    const { asked, handle } = serving(() => [[1]])
    const found = await read(handle, { mode: 'page', max_pages: 3 })
    assert.deepEqual([found.items, asked.length], [[1, 1, 1], 3])
    assert.match(String(found.warnings[0]), /Stopped after 3 pages/)
  })

  test('are requested only as far as their items are taken', async () => {
    const { asked, handle } = serving(() => [Array.from({ length: 500 }, (_, at) => at)])
    const found = await read(handle, { mode: 'page' }, '/', 3)
    assert.deepEqual([found.items, asked.length], [[0, 1, 2], 1])
  })

  test('send the same headers, method and body each time', async () => {
    const seen: unknown[] = []
    const found = await read(
      async (request, response) => {
        seen.push([request.method, request.headers['x-a'], (await bodyOf(request)).toString()])
        response.end(seen.length < 3 ? '[1]' : '[]')
      },
      { mode: 'page', method: 'POST', headers: { 'x-a': 'b' }, body: { q: 1 } },
    )
    assert.deepEqual([found.items, seen], [[1, 1], Array(3).fill(['POST', 'b', '{"q":1}'])])
    assert.deepEqual(
      ['GET', 'POST'].map((method) => isRetrySafe(builtinRegistry.get('http.Pages')!, { method })),
      [true, false],
    )
    const methods = builtinRegistry.get('http.Pages')!.properties.find(({ name }) => name === 'method')!.type.values
    assert.deepEqual([methods.includes('POST'), methods.includes('HEAD')], [true, false])
  })

  test('that repeat, or lead to another server, are refused', async () => {
    const circle = serving((url) => [[1], { link: `<${url.pathname === '/a' ? '/b' : '/a'}>; rel=next` }])
    assert.equal((await read(circle.handle, {}, '/a')).error, 'bad_page')
    const same = serving(() => [{ items: [1], next: 'x' }])
    const again = await read(same.handle, { mode: 'cursor', items_path: 'items' })
    assert.deepEqual([again.error, same.asked.length], ['bad_page', 2])
    // How many items were sent before the failure depends on the machine.
    assert.ok(again.items.length <= 2 && again.items.every((item) => item === 1))
    const away = serving(() => [[1], { link: '<http://127.0.0.1:1/>; rel=next' }])
    const found = await read(away.handle, {})
    assert.deepEqual([found.error, /another server/.test(found.message)], ['bad_page', true])
  })

  test('whose URL would be too long are refused before it is built', async () => {
    const cursors = ['é'.repeat(4_900_000), `http://127.0.0.1/?${'é'.repeat(4_900_000)}`]
    const { asked, handle } = serving(({ pathname }) => [{ items: [], next: cursors[Number(pathname.slice(1))] }])
    const data = { mode: 'cursor', items_path: 'items' }
    for (const path of ['/0', '/1']) {
      await takesLess(500, async () => assert.equal((await read(handle, data, path)).error, 'bad_url'))
    }
    assert.equal(asked.filter((url) => url.includes('cursor')).length, 0)
  })

  test('on a server that a redirect led to do not get the request for the first server', async () => {
    const arrived: unknown[] = []
    await using other = await httpServer((asked, response) => {
      arrived.push([asked.url, asked.headers.authorization, asked.headers['x-key']])
      const link = asked.url === '/1' ? { link: '</2>; rel=next' } : {}
      response.writeHead(200, { 'content-type': 'application/json', ...link }).end('[1]')
    })
    await using server = await httpServer((_asked, response) =>
      response.writeHead(302, { location: `${other.url}/1` }).end(),
    )
    const headers = { Authorization: 'Bearer {{secret:API}}', 'X-Key': '{{secret:API}}' }
    const of = graph([node('p', 'http.Pages', { url: server.url, headers })], [])
    const { outcome } = await runHttp(of, { secrets: { API: 'S3cret/+ value' } })
    assert.deepEqual(arrived, [['/1', undefined, undefined]])
    assert.ok(outcome.status === 'failed')
    assert.deepEqual([outcome.error.type, /final URL/.test(outcome.error.message)], ['bad_page', true])
  })

  test('of a server that redirects each request to itself are followed', async () => {
    const { asked, handle } = serving((url) => [[1], { link: url.pathname === '/b' ? '' : '</b>; rel=next' }])
    const found = await read((request, response) => {
      if (request.url === '/') response.writeHead(302, { location: '/a' }).end()
      else handle(request, response)
    }, {})
    assert.deepEqual([found.error, found.items, asked], [null, [1, 1], ['/a', '/b']])
  })

  test('that are invalid cause errors with a clear message', async () => {
    const none = await read(serving(() => [{ a: { b: 'c' } }]).handle, { items_path: 'a.b' })
    assert.deepEqual([none.error, /"a\.b" in the answer is str.*items_path/.test(none.message)], ['bad_page', true])
    const cursor = await read(serving(() => [{ items: [], next: {} }]).handle, { mode: 'cursor', items_path: 'items' })
    assert.deepEqual([cursor.error, /"next" is dict.*cursor_path/.test(cursor.message)], ['bad_page', true])
    const failing = await read((_asked, response) => response.writeHead(500).end(), {})
    assert.equal(failing.error, 'http_status')
    const text = await read((_asked, response) => response.end('<html>'), {})
    assert.equal(text.error, 'not_json')
  })
})

describe('a Link header', () => {
  const CASES: [string, string | null][] = [
    ['', null],
    ['<a>; rel=next', 'a'],
    ['<a>;rel="next"', 'a'],
    ['<a>; REL=NEXT', 'a'],
    ['<a> ; rel = next ; x', 'a'],
    ['<a>; rel="prev next"', 'a'],
    ['<a>; rel=prev, <b>; rel=next', 'b'],
    ['<a>; title="x, <y>; rel=next"; rel=prev, <b>; rel=next', 'b'],
    ['<a>; title="\\"; rel=next"; rel=prev', null],
    ['<a>; rel=prev; rel=next', null],
    ['<a>; rel=next; anchor="#x", <b>; rel=next', 'b'],
    ['<https://h/?a=1,2;3>; rel=next', 'https://h/?a=1,2;3'],
    ['junk, <b>; rel=next', 'b'],
    [', ,<b>; rel=next,', 'b'],
    ['<a>; rel="next', 'a'],
    ['<a; rel=next', null],
    ['<a>; ;; rel=next', 'a'],
    ['<>; rel=next', ''],
    ['<a>; rel=nextpage', null],
  ]
  for (const [header, target] of CASES) {
    test(`${header} leads to ${target}`, () => assert.equal(findLink(header, 'next'), target))
  }

  test('with any text is parsed without hanging, and gives only its own targets', () => {
    const pieces = fc.constantFrom('<', '>', ';', ',', '"', '\\', '=', ' ', 'rel', 'next', 'a', '\t')
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 40 }), (parts) => {
        const header = parts.join('')
        const target = findLink(header, 'next')
        assert.ok(target === null || header.includes(`<${target}`))
      }),
      { numRuns: scaled(1000) },
    )
    assert.equal(findLink('<a>;'.repeat(20_000), 'next'), null)
  })
})
