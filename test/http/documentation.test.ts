// The guide and the node catalogue as a server serves them: every page links only to what is there, on this server, with relative URLs.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { exampleFor } from '../../src/nodes/examples/catalogue.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { readGuidePage } from '../helpers/documents.ts'
import { call } from '../helpers/http.ts'
import { startServer, type TestServer } from '../helpers/server.ts'

/** The texts of pages by path, from `start` on over all links below `/docs/`. */
async function crawl(server: TestServer, start: string): Promise<Map<string, string>> {
  const pages = new Map<string, string>()
  const open = [start]
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (pages.has(path)) continue
    const { status, text, headers } = await call<string>(server, 'GET', path)
    assert.equal(status, 200, path)
    pages.set(path, text)
    if (String(headers['content-type']).startsWith('text/html'))
      open.push(...linksOf(text, path).filter(isDocumentation))
  }
  return pages
}

const isDocumentation = (path: string) => path.startsWith('/docs/')

function linksOf(text: string, path: string): string[] {
  const links = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link!)
  for (const link of links) assert.doesNotMatch(link, /^\//, `${path} links to ${link}, which fails behind a proxy`)
  const base = new URL(path, 'http://here')
  return links
    .map((link) => new URL(link, base))
    .filter(({ origin }) => origin === base.origin)
    .map(({ pathname }) => pathname)
}

describe('the documentation of a server', () => {
  test('every page of the guide and every node type is reached by links, and no link is broken', async () => {
    await using server = await startServer()
    const pages = await crawl(server, '/docs/guide')
    for (const { node_type } of builtinRegistry.all()) assert.ok(pages.has(`/docs/nodes/${node_type}`), node_type)
    for (const [path, text] of pages) {
      const ids = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!)
      assert.equal(new Set(ids).size, ids.length, `${path} has an id twice`)
    }
    for (const path of ['guide', 'nodes', 'guide/models', 'guide.css', 'guide.js'])
      assert.ok(pages.has(`/docs/${path}`))
  })

  test('getGuidePage shows the text of a page without its comments, and marks it in the list', async () => {
    await using server = await startServer()
    const { text, headers } = await call<string>(server, 'GET', '/docs/guide/models')
    assert.match(text, /<h1 id="models">Models<\/h1>/)
    assert.match(text, /<a href="models" aria-current="page">Models<\/a>/)
    assert.match(readGuidePage('models'), /<!--/)
    assert.doesNotMatch(text, /tested:|<!--/)
    assert.match(String(headers['content-security-policy']), /^default-src 'none';/)
    assert.equal(headers['x-frame-options'], 'DENY')
  })

  test('getNodeCataloguePage shows properties with types and defaults, and escapes them', async () => {
    await using server = await startServer()
    const { text } = await call<string>(server, 'GET', '/docs/nodes/text.Case')
    assert.match(text, /<h1>text\.Case<\/h1>/)
    assert.match(text, /<code>to<\/code><\/td><td><code>enum\(upper \| lower/)
    assert.match(text, /<code>&quot;lower&quot;<\/code>/)
    assert.match(text, /<em>required<\/em>/)
    assert.match(text, /<h2 id="example">Example<\/h2>/)
    const { data, outputs } = exampleFor('text.Case')!
    for (const part of [data, outputs!])
      for (const [name, value] of Object.entries(part))
        assert.ok(text.includes(`&quot;${name}&quot;: ${JSON.stringify(value).replaceAll('"', '&quot;')}`), name)
  })

  for (const path of [
    '/docs/guide/nothing',
    '/docs/guide/README',
    '/docs/guide/..%2f..%2fREADME',
    '/docs/guide/__proto__',
    '/docs/nodes/text.Nothing',
    '/docs/nodes/constructor',
  ])
    test(`${path} is not found`, async () => {
      await using server = await startServer()
      assert.equal((await call(server, 'GET', path)).status, 404)
    })
})
