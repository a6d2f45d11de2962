// Texts of HTML files, and texts in pieces.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { context, runWith } from './context.ts'
import { failsAs } from './fails-as.ts'
import { fire } from './fire.ts'

interface Chunk {
  text: string
  start: number
  end: number
}

async function chunks(text: string, size: number, overlap = 0): Promise<Chunk[]> {
  const outputs = await fire('document.Chunk', { text, size, overlap })
  const found = outputs.chunks as Chunk[]
  assert.deepEqual(
    outputs.texts,
    found.map((chunk) => chunk.text),
  )
  for (const chunk of found) assert.equal(text.slice(chunk.start, chunk.end), chunk.text)
  return found
}

describe('document.Chunk', () => {
  const STORY = 'One fine day. Two went out.\n\nThree came back, and four stayed there for good.'

  test('cuts at the ends of paragraphs and sentences', async () => {
    assert.deepEqual(await chunks(STORY, 40), [
      { text: 'One fine day. Two went out.', start: 0, end: 27 },
      { text: 'Three came back, and four stayed there', start: 29, end: 67 },
      { text: 'for good.', start: 68, end: 77 },
    ])
  })

  test('repeats whole words of the piece before', async () => {
    assert.deepEqual(
      (await chunks(STORY, 40, 10)).map(({ text }) => text),
      ['One fine day. Two went out.', 'out.\n\nThree came back, and four stayed', 'stayed there for good.'],
    )
  })

  test('cuts texts without words anywhere, but not inside a character', async () => {
    const waves = '🌊'.repeat(50)
    const found = await chunks(waves, 21, 5)
    for (const { text } of found) assert.ok(text.isWellFormed() && text.length <= 21 && text.startsWith('🌊'))
    assert.deepEqual([found[0]!.start, found.at(-1)!.end], [0, 100])
    for (const [at, { start }] of found.slice(1).entries())
      assert.ok(start < found[at]!.end && start > found[at]!.start)
  })

  test('gives no pieces of an empty text, and refuses an overlap that is too large', async () => {
    assert.deepEqual(await chunks(' \n ', 20), [])
    await assert.rejects(fire('document.Chunk', { text: 'a', size: 100, overlap: 50 }), /bad_input: .*half of the size/)
  })

  test('ends pieces of Markdown at headings, and lists the headings above them', async () => {
    const text = [
      'Before all.\n',
      '# Guide #\nHello there.\n',
      '## Start\n```\n# no heading\n```\nRun it.\n',
      '### Linux\nType `make`, and wait until it is done.\n',
      '## End\n',
      '#no heading either',
    ].join('\n')
    const { chunks: found } = await fire('document.Chunk', { text, size: 40, overlap: 0, markdown: true })
    assert.deepEqual(
      (found as (Chunk & { headings: string[] })[]).map((chunk) => {
        assert.equal(text.slice(chunk.start, chunk.end), chunk.text)
        return [chunk.headings, chunk.text]
      }),
      [
        [[], 'Before all.'],
        [['Guide'], '# Guide #\nHello there.'],
        [['Guide', 'Start'], '## Start\n```\n# no heading\n```\nRun it.'],
        [['Guide', 'Start', 'Linux'], '### Linux\nType `make`, and wait until'],
        [['Guide', 'Start', 'Linux'], 'it is done.'],
        [['Guide', 'End'], '## End\n\n#no heading either'],
      ],
    )
    const many = '# a\n'.repeat(100_000)
    assert.equal(((await fire('document.Chunk', { text: many, markdown: true })).texts as unknown[]).length, 100_000)
  })

  test('is fast with long texts', async () => {
    const long = 'word and '.repeat(100_000)
    const found = await chunks(long, 1_000, 100)
    assert.ok(found.length >= 1_000 && found.length < 1_100, `${found.length}`)
  })
})

async function htmlText(document: unknown, charset: string | null = null) {
  return runWith(builtinRegistry.get('document.HtmlText')!, { document, charset }, context)
}

describe('document.HtmlText', () => {
  const page = '<title>Caf\u00e9</title><script>x</script><p>Tee &amp; <a href="/k">Kuchen</a></p><p>f\u00fcr 3</p>'
  const read = {
    title: 'Café',
    text: 'Tee & Kuchen\n\nfür 3',
    markdown: 'Tee & [Kuchen](/k)\n\nfür 3',
    links: [{ url: '/k', text: 'Kuchen' }],
  }

  test('reads the text of a file, in the charset that it declares', async () => {
    const latin = (head = '') => Buffer.from(`${head}${page}`, 'latin1')
    for (const document of [
      Buffer.from(page),
      Buffer.from(`\ufeff${page}`),
      Buffer.from(`\ufeff${page}`, 'utf16le'),
      { data: latin(), content_type: 'text/html; charset="ISO-8859-1"' },
      latin('<meta charset=windows-1252>'),
      latin('<meta http-equiv="content-type" content="text/html; charset=latin1">'),
    ])
      assert.deepEqual(await htmlText(document), read)
    assert.deepEqual(await htmlText(latin(), 'iso-8859-15'), read)
  })

  test('refuses files that it cannot read', async () => {
    await assert.rejects(htmlText(Buffer.from(page, 'latin1')), failsAs('bad_file', /charset/))
    await assert.rejects(htmlText(Buffer.from(page), 'klingon'), failsAs('bad_input', /no charset/))
    await assert.rejects(htmlText(Buffer.from('a\0b')), failsAs('unsupported', /not HTML/))
    await assert.rejects(htmlText(Buffer.alloc(6_000_001)), failsAs('too_large', /6,000,000 bytes/))
    await assert.rejects(htmlText(Buffer.alloc(1_500_001, 'a')), failsAs('too_large', /1,500,000 characters/))
    await assert.rejects(htmlText(Buffer.from('<b>'.repeat(600))), failsAs('too_deep', /512/))
    await assert.rejects(htmlText(7), failsAs('bad_input', /The HTML file is neither/))
  })
})
