// text.*, regex.*, json.*
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { heldBytes } from '../../helpers/heap.ts'
import { takesLess } from '../../helpers/patience.ts'
import { fire, outputOf } from '../fire.ts'

describe('text', () => {
  test('Template', async () => {
    const of = (template: string, dynamic = {}) => outputOf('text.Template', { template }, dynamic)
    assert.equal(await of('{{greeting}}, {{ name }}!', { greeting: 'Hi', name: 'Ann' }), 'Hi, Ann!')
    assert.equal(
      await of('{{user.names[0]}} {{n}} {{list}}', { user: { names: ['Bo'] }, n: 1.5, list: [1, 'a'] }),
      'Bo 1.5 [1,"a"]',
    )
    assert.equal(await of('{{a}}{{a}} {b} {{', { a: '$&' }), '$&$& {b} {{')
    assert.equal(await of(''), '')
    await assert.rejects(
      of('{{nam}}', { name: 'x' }),
      /unknown_name: The template uses "nam", which is not an input\. Did you mean "name"\?/,
    )
    await assert.rejects(of('{{constructor}}'), /unknown_name/)
    const nothing = /unknown_name: The template uses "user\.age", but input "user" has no value there\./
    await assert.rejects(of('{{user.age}}', { user: {} }), nothing)
    await assert.rejects(outputOf('text.Template'), /missing_property/)
    await takesLess(1000, () => of(`{{${' '.repeat(100_000)}`))
  })

  test('Concat', async () => {
    assert.equal(await outputOf('text.Concat', { a: 'x', b: 'y' }), 'xy')
    assert.equal(await outputOf('text.Concat'), '')
    await assert.rejects(
      outputOf('text.Concat', { a: 1 }),
      /type_mismatch.*"a".*expected a string \(str\), got an integer/,
    )
  })

  test('FromValue', async () => {
    for (const [value, text] of [
      ['x', 'x'],
      [1, '1'],
      [true, 'true'],
      [{ a: [1] }, '{"a":[1]}'],
      [null, ''],
    ]) {
      assert.equal(await outputOf('text.FromValue', { value }), text)
    }
    const ring: Record<string, unknown> = {}
    ring.self = ring
    await assert.rejects(outputOf('text.FromValue', { value: ring }), /too_deep: .* more than 64 levels deep/)
  })

  test('Split', async () => {
    assert.deepEqual(await outputOf('text.Split', { text: 'a, b,,c' }), ['a', ' b', '', 'c'])
    assert.deepEqual(await outputOf('text.Split', { text: 'a, b,,c', trim: true, drop_empty: true }), ['a', 'b', 'c'])
    assert.deepEqual(await outputOf('text.Split', { text: 'a👍', separator: '' }), ['a', '👍'])
    assert.deepEqual(await outputOf('text.Split', { text: '' }), [''])
    await assert.rejects(outputOf('text.Split', { text: ['a'] }), /type_mismatch/)
  })

  test('Join', async () => {
    assert.equal(await outputOf('text.Join', { list: ['a', 1, null, { b: 2 }], separator: '-' }), 'a-1--{"b":2}')
    assert.equal(await outputOf('text.Join', { list: [] }), '')
    await assert.rejects(outputOf('text.Join', { list: [], separator: 5 }), /type_mismatch/)
  })

  test('Lines', async () => {
    assert.deepEqual(await outputOf('text.Lines', { text: 'a\r\nb\n\nc\n' }), ['a', 'b', '', 'c'])
    assert.deepEqual(await outputOf('text.Lines', { text: 'a\n \nb', drop_empty: true }), ['a', 'b'])
    assert.deepEqual(await outputOf('text.Lines', { text: '' }), [])
    await assert.rejects(outputOf('text.Lines', { text: {} }), /type_mismatch/)
  })

  test('Words', async () => {
    assert.deepEqual(await outputOf('text.Words', { text: "Don't stop, über-Mensch! 42.", lower: true }), [
      "don't",
      'stop',
      'über-mensch',
      '42',
    ])
    assert.deepEqual(await outputOf('text.Words', { text: ' ?! ' }), [])
    await assert.rejects(outputOf('text.Words', { text: 1 }), /type_mismatch/)
  })

  test('Replace', async () => {
    assert.deepEqual(await fire('text.Replace', { text: 'a.b.c', find: '.', replacement: '$&' }), {
      output: 'a$&b$&c',
      count: 2,
    })
    assert.deepEqual(await fire('text.Replace', { text: 'abc', find: '' }), { output: 'abc', count: 0 })
    await assert.rejects(
      outputOf('text.Replace', { text: 'a'.repeat(10_000), find: 'a', replacement: 'b'.repeat(10_000) }),
      /too_large/,
    )
    await assert.rejects(outputOf('text.Replace', { text: 'a', find: 1 }), /type_mismatch/)
  })

  test('Case', async () => {
    const of = (to: string, text = 'hello BIG-world ÉTÉ') => outputOf('text.Case', { text, to })
    assert.equal(await of('upper'), 'HELLO BIG-WORLD ÉTÉ')
    assert.equal(await of('lower'), 'hello big-world été')
    assert.equal(await of('title'), 'Hello Big-World Été')
    assert.equal(await of('sentence'), 'Hello big-world été')
    assert.equal(await of('snake', 'someHTTPName 2'), 'some_http_name_2')
    assert.equal(await of('kebab', 'Some Name'), 'some-name')
    assert.equal(await of('camel', 'some other-name'), 'someOtherName')
    assert.equal(await of('title', ''), '')
    await assert.rejects(of('shout'), /expected enum\(upper/)
  })

  test('Trim', async () => {
    assert.equal(await outputOf('text.Trim', { text: '  a  b ' }), 'a  b')
    assert.equal(await outputOf('text.Trim', { text: ' a  b ', side: 'start', collapse: true }), 'a b ')
    assert.equal(await outputOf('text.Trim', { text: '' }), '')
    await assert.rejects(outputOf('text.Trim', { text: 'a', side: 'middle' }), /type_mismatch/)
    const before = heldBytes()
    const collapsed = await outputOf('text.Trim', { text: 'a\n'.repeat(300_000), collapse: true })
    const held = heldBytes() - before
    assert.ok(held < 5_000_000, `${held} bytes are held for a text of ${String(collapsed).length} characters`)
  })

  test('Length', async () => {
    assert.deepEqual(await fire('text.Length', { text: 'two words\nhere 👍' }), { output: 16, words: 3, lines: 2 })
    assert.deepEqual(await fire('text.Length', { text: '' }), { output: 0, words: 0, lines: 0 })
    await assert.rejects(fire('text.Length', { text: 5 }), /type_mismatch/)
    for (const text of ['a — b … c', 'a\n', 'a\r\n\r\n', '\n', '\r', 'a\n\r', "Don't stop,\nüber-Mensch! 42.", '']) {
      const { words, lines } = await fire('text.Length', { text })
      assert.equal(words, ((await outputOf('text.Words', { text })) as string[]).length, JSON.stringify(text))
      assert.equal(lines, ((await outputOf('text.Lines', { text })) as string[]).length, JSON.stringify(text))
    }
  })

  test('Slice', async () => {
    assert.equal(await outputOf('text.Slice', { text: 'abc👍def', start: 2, end: 5 }), 'c👍d')
    assert.equal(await outputOf('text.Slice', { text: 'abcdef', start: -2 }), 'ef')
    assert.equal(await outputOf('text.Slice', { text: 'abc', start: 9 }), '')
    await assert.rejects(
      outputOf('text.Slice', { text: 'abc', start: 0.5 }),
      /expected an integer \(int\), got a float/,
    )
  })

  test('Contains', async () => {
    assert.deepEqual(await fire('text.Contains', { text: 'Hello', part: 'ell' }), { output: true, index: 1 })
    assert.deepEqual(await fire('text.Contains', { text: 'Hello', part: 'HELL', where: 'start', ignore_case: true }), {
      output: true,
      index: 0,
    })
    assert.deepEqual(await fire('text.Contains', { text: 'Hello', part: 'Hell', where: 'end' }), {
      output: false,
      index: 0,
    })
    assert.deepEqual(await fire('text.Contains', { text: '', part: 'x' }), { output: false, index: -1 })
    await assert.rejects(fire('text.Contains', { text: 'x', where: 'nowhere' }), /type_mismatch/)
  })

  test('Pad', async () => {
    assert.equal(await outputOf('text.Pad', { text: '7', length: 3, side: 'start', fill: '0' }), '007')
    assert.equal(await outputOf('text.Pad', { text: '', length: 2 }), '  ')
    await assert.rejects(outputOf('text.Pad', { text: '7', length: -1 }), /must be at least 0/)
  })

  test('Repeat', async () => {
    assert.equal(await outputOf('text.Repeat', { text: 'ab', times: 3, separator: '-' }), 'ab-ab-ab')
    assert.equal(await outputOf('text.Repeat', { text: 'ab', times: 0 }), '')
    await assert.rejects(outputOf('text.Repeat', { text: 'x'.repeat(100), times: 1_000_000 }), /too_large/)
  })
})

describe('regex', () => {
  const text = 'on 2024-05-01 and 2025-06-02'
  const pattern = '(?P<year>\\d{4})-(\\d\\d)'

  test('Match', async () => {
    const found = { output: true, match: '2024-05', groups: ['2024', '05'], named: { year: '2024' } }
    assert.deepEqual(await fire('regex.Match', { text, pattern }), found)
    assert.deepEqual(await fire('regex.Match', { text: '', pattern }), { output: false })
    assert.deepEqual(await outputOf('regex.Match', { text: 'ABC', pattern: 'b', ignore_case: true }), true)
    await assert.rejects(
      fire('regex.Match', { text, pattern: '(' }),
      /bad_pattern: The pattern is invalid: .*missing closing/,
    )
    for (const beyond of ['(?=a)', '(?<!a)b', '(a)\\1', '(?>a)'])
      await assert.rejects(fire('regex.Match', { text, pattern: beyond }), (error: Error) => {
        const says = /bad_pattern: The pattern is invalid: .*Look-around and back references are not supported/
        return says.test(error.message) && !error.message.includes('error parsing regexp')
      })
    await assert.rejects(fire('regex.Match', { text: 'x'.repeat(1_000_001), pattern }), /too_large/)
    await assert.rejects(fire('regex.Match', { text, pattern: 'x'.repeat(2001) }), /bad_pattern/)
  })

  test('a hostile pattern takes no more time than the text is long', async () => {
    const hostile = { text: `${'a'.repeat(20_000)}b`, pattern: '^(a+)+$' }
    await takesLess(2000, async () => assert.equal(await outputOf('regex.Match', hostile), false))
  })

  test('FindAll', async () => {
    const { output, count } = await fire('regex.FindAll', { text, pattern })
    assert.equal(count, 2)
    assert.deepEqual((output as unknown[])[1], {
      text: '2025-06',
      index: 18,
      groups: ['2025', '06'],
      named: { year: '2025' },
    })
    assert.deepEqual(await fire('regex.FindAll', { text: '', pattern: 'x' }), { output: [], count: 0 })
    await assert.rejects(fire('regex.FindAll', { text, pattern: '[' }), /bad_pattern/)
  })

  test('Replace', async () => {
    assert.equal(
      await outputOf('regex.Replace', { text, pattern, replacement: '$2/$<year>' }),
      'on 05/2024-01 and 06/2025-02',
    )
    assert.equal(await outputOf('regex.Replace', { text: '', pattern }), '')
    await assert.rejects(outputOf('regex.Replace', { text, pattern: '*' }), /bad_pattern/)
  })

  test('Split', async () => {
    assert.deepEqual(await outputOf('regex.Split', { text: 'a1b22c', pattern: '\\d+' }), ['a', 'b', 'c'])
    assert.deepEqual(await outputOf('regex.Split', { text: '', pattern: ',' }), [''])
    assert.deepEqual(await outputOf('regex.Split', { text: 'ab', pattern: '' }), ['ab'])
    await assert.rejects(outputOf('regex.Split', { text, pattern: ')' }), /bad_pattern/)
  })
})

describe('json', () => {
  test('Parse', async () => {
    assert.deepEqual(await outputOf('json.Parse', { text: '{"a":[1,null]}' }), { a: [1, null] })
    await assert.rejects(outputOf('json.Parse', { text: '' }), /not_json/)
    await assert.rejects(outputOf('json.Parse', { text: '{a:1}' }), /not_json: The text is not JSON/)
    await assert.rejects(outputOf('json.Parse', { text: '{\n  "a": 1,\n}' }), (error: Error) => {
      return /not_json/.test(error.message) && !error.message.includes('\n')
    })
  })

  test('Parse reads 64 levels, and refuses more', async () => {
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
    assert.equal(JSON.stringify(await outputOf('json.Parse', { text: nested(64) })), nested(64))
    for (const levels of [65, 3000, 1_000_000]) {
      await assert.rejects(outputOf('json.Parse', { text: nested(levels) }), /too_deep: .* more than 64 levels/)
    }
    const long = `{"a":[${'0,'.repeat(1_000_000)}0]}`
    await assert.rejects(outputOf('json.Parse', { text: long }), /too_large: The JSON has more than 1,000,000 values/)
  })

  test('Stringify', async () => {
    assert.equal(await outputOf('json.Stringify', { value: { a: [1, 'x'] } }), '{"a":[1,"x"]}')
    assert.equal(await outputOf('json.Stringify', { value: [1], indent: 2 }), '[\n  1\n]')
    assert.equal(await outputOf('json.Stringify'), 'null')
    await assert.rejects(outputOf('json.Stringify', { value: 1, indent: 99 }), /must be at most 10/)
  })
})
