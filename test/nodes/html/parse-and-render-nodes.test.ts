// text.ParseHtml and text.RenderHtml
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { takesLess } from '../../helpers/patience.ts'
import { scaled } from '../../helpers/scale.ts'
import { fire, outputOf } from '../fire.ts'
import { soon } from '../soon.ts'

const PAGE = `<!doctype html><html><head><title> A &amp;
  B </title><style>p { }</style></head><body class="x">
<h1>Hi <b>you</b></h1><p>One<br>two   three<p>Four &lt;5&gt;
<ul class="list big"><li><a href="/x" rel="next">X</a><li id=second data-n="2">Y</ul>
<pre>a
  b</pre><table><tr><td>1<td>2<tr><td>3</table><script>evil("<p>")</script></body></html>`

const parse = (html: string, selector = '') => fire('text.ParseHtml', { html, selector })

describe('text.ParseHtml', () => {
  test('reads title, text and links', async () => {
    assert.deepEqual(await fire('text.ParseHtml', { html: PAGE }), {
      title: 'A & B',
      text: 'Hi you\n\nOne\ntwo three\n\nFour <5>\n\nX\nY\n\na\n  b\n\n1 2\n3',
      links: [{ url: '/x', text: 'X' }],
      matches: [],
    })
    assert.deepEqual(await parse(''), { title: '', text: '', links: [], matches: [] })
    assert.deepEqual(await parse('just text'), { title: '', text: 'just text', links: [], matches: [] })
    await assert.rejects(fire('text.ParseHtml', { html: [] }), /type_mismatch/)
  })

  test('reads broken HTML as far as possible', async () => {
    assert.equal((await parse('</p><b>a</i></b><p>b</div>c <')).text, 'a\n\nb\n\nc <'.replace('\n\nc', 'c'))
    assert.deepEqual((await parse('<a href=1>x<p>y')).links, [{ url: '1', text: 'x\n\ny' }])
    assert.equal((await parse('<title>one</title><svg><title>two</title></svg>x')).title, 'one')
  })

  test('selects elements', async () => {
    const CASES: [string, string[]][] = [
      ['li', ['X', 'Y']],
      ['LI', ['X', 'Y']],
      ['ul.list > li', ['X', 'Y']],
      ['body > li', []],
      ['body li a', ['X']],
      ['.big.list #second', ['Y']],
      ['li[data-n]', ['Y']],
      ['[data-n="2"], h1', ['Hi you', 'Y']],
      ["a[rel~='next'][href^=/][href$=x][href*=x]", ['X']],
      ['a[rel~=nex]', []],
      ['a[href^=""]', []],
      ['h1 > *', ['you']],
      ['b:not(x)', []],
      ['nothing', []],
    ]
    for (const [selector, texts] of CASES) {
      if (selector.includes(':')) {
        await assert.rejects(
          parse(PAGE, selector),
          /bad_selector: The selector "b:not\(x\)" has a syntax error at char/,
        )
        continue
      }
      const matches = (await parse(PAGE, selector)).matches as { text: string }[]
      assert.deepEqual(
        matches.map(({ text }) => text),
        texts,
        selector,
      )
    }
    const { matches } = await parse(PAGE, '#second')
    assert.deepEqual(matches, [{ tag: 'li', text: 'Y', attributes: { id: 'second', 'data-n': '2' } }])
  })

  test('refuses selectors that it does not know', async () => {
    for (const selector of ['a >', '> a', 'a,,b', '[x', '..a', 'a + b', '#', 'a[b=c d]', 'a,', 'x'.repeat(201)])
      await assert.rejects(parse('<a>', selector), /bad_selector/, selector)
    await assert.rejects(parse('<a>', '* '.repeat(21)), /bad_selector: The selector has more than 20 parts/)
  })

  test('matches nested descendant selectors in linear time', async () => {
    const html = `${'<i>'.repeat(500)}x${'</i>'.repeat(500)}`.repeat(100)
    await takesLess(10_000, async () => {
      assert.deepEqual((await parse(html, `${'i '.repeat(19)}b`)).matches, [])
      assert.equal(((await parse(html, 'i > i i')).matches as unknown[]).length, 49_800)
    })
  })

  test('refuses documents beyond its limits', async () => {
    await assert.rejects(parse('<i>'.repeat(513)), /too_deep: The elements are nested more than 512 levels deep/)
    await assert.rejects(parse('x'.repeat(1_500_001)), /too_large: The document has more than 1,500,000 characters/)
    const nested = '<i>'.repeat(200) + 'x'.repeat(1_000_000)
    await assert.rejects(parse(nested, 'i'), /too_large: The items of the list would have more than 100,000,000/)
  })
})

describe('text.HtmlToMarkdown', () => {
  const markdown = async (html: string) => (await outputOf('text.HtmlToMarkdown', { html })) as string

  test('writes the text of a page with its formatting', async () => {
    const page = `<!doctype html><title>T</title><style>p {}</style><h1>Hi <b>you</b> &amp; *me*</h1>
      <p>One<br>two   three <a href="/x y(1)">X <i>it</i></a>, <a href="java\nscript:alert(1)">bad</a> <img src="a.png" alt="A [cat]">
      <p># no heading<p>1. no list<div>a_b \`c\` &lt;b&gt; x &amp;amp; y</div><b><p>bold</p></b>
      <ul><li>Eins<ul><li>A</li><li><p>B</p><p>B2</p></li></ul><li>Zwei <code>a\`b</code></ul>
      <ol start=3><li>three<li>four<pre><code class="language-js">let a = 1\n  b</code></pre></ol>
      <blockquote><p>Quote</p><blockquote>deep</blockquote></blockquote><hr>un<b>believ</b>able<b> sp </b><s>gone</s>
      <table><tr><th>A<th>B|C<tr><td colspan=2>1<td>2<p>x</p><tr><td><table><tr><td>in<td>ner</table></table><script>evil()</script>`
    const expected = [
      '# Hi **you** & \\*me\\*',
      'One\\\ntwo three [X *it*](/x%20y%281%29), bad ![A \\[cat\\]](a.png)',
      '\\# no heading',
      '1\\. no list',
      'a\\_b \\`c\\` \\<b> x \\&amp; y',
      '**bold**',
      '- Eins\n  - A\n  - B\n\n    B2\n- Zwei ``a`b``',
      '3. three\n4. four\n\n   ```js\n   let a = 1\n     b\n   ```',
      '> Quote\n>\n> > deep',
      '---',
      'un**believ**able **sp** ~~gone~~',
      '| A | B\\|C |  |\n| --- | --- | --- |\n| 1 |  | 2 x |\n| in ner |  |  |',
    ]
    assert.deepEqual((await markdown(page)).split(/\n\n(?! )/), expected)
    assert.equal(await markdown(''), '')
    assert.equal(await markdown('x</b></p>y <'), 'x\n\ny <')
  })

  test('writes Markdown that reads back as the same text', async () => {
    const text = fc.string({ unit: fc.constantFrom(...'#>-+*_`[]()!<&;:1. \\|~="ax'), maxLength: 24 })
    const tags = fc.constantFrom('p', 'h2', 'li', 'b', 'i', 'blockquote', 'td', 'a href="/x"')
    await fc.assert(
      fc.asyncProperty(text, tags, async (one, tag) => {
        const template = `<${tag}>{{a}}</${tag.split(' ')[0]}>`
        const html = (await outputOf('text.RenderHtml', { template }, { a: one })) as string
        const again = (await outputOf('text.RenderMarkdown', { text: await markdown(html) })) as string
        assert.equal((await parse(again)).text, (await parse(html)).text, await markdown(html))
      }),
      { numRuns: scaled(150) },
    )
  })

  test('is fast for hostile pages, and refuses those that would grow', async () => {
    for (const html of [
      '<i></i> '.repeat(100_000),
      `${'<blockquote>'.repeat(500)}${'x<br>'.repeat(100_000)}`,
      `<pre>${'\n'.repeat(1_000_000)}x</pre>`,
      `<code>${'`'.repeat(1_000_000)}</code>`,
      `${'<b><i>'.repeat(250)}${'<p>x'.repeat(100_000)}`,
      '<b>.</b>x'.repeat(100_000),
    ])
      await soon(() => markdown(html))
    for (const html of [
      `<table><tr>${'<td colspan=50>'.repeat(200)}${'<tr><td>'.repeat(100_000)}`,
      `${'<ol start=999999><li>'.repeat(20)}${'x<br>'.repeat(200_000)}`,
    ])
      await assert.rejects(
        soon(() => markdown(html)),
        /too_large/,
      )
    await assert.rejects(markdown('<div>'.repeat(513)), /too_deep/)
    await assert.rejects(markdown('a'.repeat(1_500_001)), /too_large/)
  })
})

describe('text.RenderHtml', () => {
  test('fills a template with texts, never with tags', async () => {
    const template = '<p title="{{t}}">{{user.name}} {{n}}</p>'
    const dynamic = { t: `"><script>'&`, user: { name: '<b>Ann</b>' }, n: 1.5 }
    assert.equal(
      await outputOf('text.RenderHtml', { template }, dynamic),
      '<p title="&quot;&gt;&lt;script&gt;&#39;&amp;">&lt;b&gt;Ann&lt;/b&gt; 1.5</p>',
    )
    assert.equal(await outputOf('text.RenderHtml', { template: '' }), '')
    await assert.rejects(outputOf('text.RenderHtml', { template: '{{nam}}' }, { name: 1 }), /Did you mean "name"/)
    const quotes = { a: '"'.repeat(2_000_000) }
    await assert.rejects(outputOf('text.RenderHtml', { template: '{{a}}' }, quotes), /too_large/)
  })

  test('writes HTML that ParseHtml reads as the same text', async () => {
    const a = `<a href="x"> & 'quoted' &amp;`
    const html = (await outputOf('text.RenderHtml', { template: '<p>{{a}}</p>' }, { a })) as string
    assert.equal((await parse(html)).text, a)
  })
})
