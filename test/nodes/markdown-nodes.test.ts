// text.ParseMarkdown and text.RenderMarkdown
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { takesLess } from '../helpers/patience.ts'
import { fire, outputOf } from './fire.ts'

const SAMPLE = `# A *fine* title

See [the **docs**](https://example.com/a "Docs") or ![a cat](cat.png).
Next line with \`code\`.

## Second

\`\`\`js title
let a = 1
\`\`\`

    indented

| a | b |
|---|---|
| 1 | 2 |
`

describe('text.ParseMarkdown', () => {
  test('splits a text into its parts', async () => {
    assert.deepEqual(await fire('text.ParseMarkdown', { text: SAMPLE }), {
      headings: [
        { level: 1, text: 'A fine title' },
        { level: 2, text: 'Second' },
      ],
      links: [{ url: 'https://example.com/a', text: 'the docs', title: 'Docs' }],
      images: [{ url: 'cat.png', text: 'a cat', title: '' }],
      code: [
        { language: 'js', text: 'let a = 1\n' },
        { language: '', text: 'indented\n' },
      ],
      text: [
        'A fine title\n\nSee the docs or a cat.\nNext line with code.\n\nSecond\n\nlet a = 1\n\nindented',
        'a\n\nb\n\n1\n\n2',
      ].join('\n\n'),
    })
    const nothing = { headings: [], links: [], images: [], code: [], text: '' }
    assert.deepEqual(await fire('text.ParseMarkdown', { text: '' }), nothing)
    await assert.rejects(fire('text.ParseMarkdown', { text: 1 }), /type_mismatch/)
  })

  test('reads HTML and dangerous URLs as text', async () => {
    const text = '<b>x</b> [y](javascript:alert) <!-- z -->'
    const { links, text: plain } = await fire('text.ParseMarkdown', { text })
    assert.deepEqual([links, plain], [[], text])
  })
})

describe('text.RenderMarkdown', () => {
  const render = (text: string) => outputOf('text.RenderMarkdown', { text })

  test('writes HTML', async () => {
    const link = '<a href="https://e.x/?a=1&amp;b" title="t">l</a>'
    assert.equal(
      await render('# T\n\n- *a*\n- [l](https://e.x/?a=1&b "t")'),
      `<h1>T</h1>\n<ul>\n<li><em>a</em></li>\n<li>${link}</li>\n</ul>\n`,
    )
    assert.match((await render(SAMPLE)) as string, /<table>.*<td>2<\/td>/s)
    assert.equal(await render(''), '')
    await assert.rejects(outputOf('text.RenderMarkdown'), /missing_property/)
  })

  test('writes nothing that a browser would run', async () => {
    const attacks = [
      '<script>alert(1)</script>',
      '<img src=x onerror=alert(1)>',
      '[a](javascript:alert(1))',
      '[a](JaVaScRiPt:alert(1))',
      '[a](&#106;avascript:alert(1))',
      '[a](java&Tab;script:alert(1))',
      '[a](vbscript:x) [b](file:///etc/passwd) [c](data:text/html;base64,PHNjcmlwdD4=)',
      '![a](javascript:alert(1))',
      '[a]: javascript:alert(1)\n\n[a]',
      '<javascript:alert(1)>',
      '[a](https://x "\\"onmouseover=alert(1)")',
      '```"><script>\nx\n```',
      '<!--[if IE]><script>x</script><![endif]-->',
    ]
    for (const attack of attacks) {
      const html = (await render(attack)) as string
      assert.doesNotMatch(html, /<(script|img|!)/i, attack)
      assert.doesNotMatch(html, /(href|src)="(javascript|vbscript|file|data):/i, attack)
      assert.doesNotMatch(html, /<[^>]* on\w+=/i, attack)
    }
  })

  test('is fast for hostile texts', async () => {
    const repeated = (part: string) => part.repeat(Math.floor(150_000 / part.length))
    const texts = ['[', '![a](', '[![a](', '*a_ ', '> - ', '`a``b', '<', 'a|\n', '- a\n  '].map(repeated)
    for (const text of [...texts, `${'> '.repeat(50)}${repeated('a\n')}`.slice(0, 150_000)]) {
      await takesLess(10_000, () => render(text))
    }
    await assert.rejects(render('['.repeat(1_000_000)), /too_large: The Markdown has more than 150,000 characters/)
  })
})
