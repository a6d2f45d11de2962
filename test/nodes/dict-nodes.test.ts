// dict.*, compare.*, logic.*
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fire, outputOf } from './fire.ts'

describe('dict', () => {
  test('Get', async () => {
    const dict = { user: { names: ['Ann', 'B'] }, none: null }
    assert.equal(await outputOf('dict.Get', { dict, path: 'user.names.-1' }), 'B')
    assert.equal(await outputOf('dict.Get', { dict, path: 'user.names[0]' }), 'Ann')
    assert.equal(await outputOf('dict.Get', { dict, path: 'user.age', default: 7 }), 7)
    assert.equal(await outputOf('dict.Get', { dict, path: 'none', default: 7 }), 7)
    assert.deepEqual(await outputOf('dict.Get', { dict, path: '' }), dict)
    assert.equal(await outputOf('dict.Get', { dict: {}, path: 'constructor.name' }), null)
    assert.equal(await outputOf('dict.Get', { dict, path: 'user.names[-1]' }), 'B')
    const dotted = { 'a.b': [{ '': { "it's": 1 } }] }
    assert.equal(await outputOf('dict.Get', { dict: dotted, path: '["a.b"][0][""]["it\'s"]' }), 1)
    assert.deepEqual(await outputOf('dict.Get', { dict: dotted, path: "['a.b'][0]" }), dotted['a.b'][0])
    await assert.rejects(outputOf('dict.Get', { dict, path: 'user..names' }), /bad_path: .* no key between two dots/)
    await assert.rejects(outputOf('dict.Get', { path: 'x' }), /missing_property/)
  })

  test('Set', async () => {
    const dict = { a: { b: 1 }, list: [1, 2] }
    assert.deepEqual(await outputOf('dict.Set', { dict, path: 'a.c', value: 2 }), { a: { b: 1, c: 2 }, list: [1, 2] })
    assert.deepEqual(await outputOf('dict.Set', { dict, path: 'list[1]', value: 'x' }), { a: { b: 1 }, list: [1, 'x'] })
    assert.deepEqual(await outputOf('dict.Set', { dict: {}, path: 'x.y', value: 1 }), { x: { y: 1 } })
    assert.deepEqual(await outputOf('dict.Set', { dict: {}, path: 'a[0].b[0][0]', value: 1 }), { a: [{ b: [[1]] }] })
    assert.deepEqual(await outputOf('dict.Set', { dict: { a: null }, path: 'a[0]', value: 1 }), { a: [1] })
    assert.deepEqual(await outputOf('dict.Set', { dict: {}, path: 'a.0', value: 1 }), { a: { 0: 1 } })
    assert.deepEqual(await outputOf('dict.Set', { dict: {}, path: 'a["b.c"]', value: 1 }), { a: { 'b.c': 1 } })
    const list = await outputOf('dict.Set', { dict, path: 'list[-1]', value: 'x' })
    assert.deepEqual(list, { a: { b: 1 }, list: [1, 'x'] })
    assert.deepEqual(dict, { a: { b: 1 }, list: [1, 2] })
    await assert.rejects(
      outputOf('dict.Set', { dict: {}, path: 'a[1]', value: 1 }),
      /list of 0 items has no position "1"/,
    )
    await assert.rejects(outputOf('dict.Set', { dict, path: 'list[-3]', value: 1 }), /has no position "-3"/)
    await assert.rejects(outputOf('dict.Set', { dict, path: 'list.x', value: 1 }), /has no position "x"/)
    await assert.rejects(
      outputOf('dict.Set', { dict, path: 'a[0]', value: 1 }),
      /has position 0 of a list, but there is an object/,
    )
    await assert.rejects(outputOf('dict.Set', { dict, path: '', value: 1 }), /bad_path: The path is empty/)
    await assert.rejects(
      outputOf('dict.Set', { dict, path: 'a.b.c', value: 1 }),
      /but the value before it is neither an object nor a list/,
    )
    await assert.rejects(outputOf('dict.Set', { dict, path: 'list[9]', value: 1 }), /has no position "9"/)
  })

  test('Set keeps to own keys, whatever they are called', async () => {
    const made = (await outputOf('dict.Set', { dict: {}, path: '__proto__.polluted', value: true })) as object
    assert.equal(({} as { polluted?: boolean }).polluted, undefined)
    assert.deepEqual(Object.keys(made), ['__proto__'])
  })

  test('Set goes 64 levels deep, and refuses more', async () => {
    const path = (levels: number) => Array.from({ length: levels }, () => 'k').join('.')
    const deepest = (await outputOf('dict.Set', { dict: {}, path: path(64), value: 1 })) as object
    assert.equal(JSON.stringify(deepest).length, 64 * '{"k":}'.length + 1)
    for (const levels of [65, 600, 5000]) {
      await assert.rejects(outputOf('dict.Set', { dict: {}, path: path(levels) }), /too_deep: .* more than 64 levels/)
    }
    await assert.rejects(outputOf('dict.Set', { dict: {}, path: 'a', value: deepest }), /too_deep/)
    await assert.rejects(outputOf('dict.Set', { dict: {}, path: 'a', value: { k: [deepest] } }), /too_deep/)
    const nowhere = outputOf('dict.Set', { dict: { list: [] }, path: `list.${'9'.repeat(1000)}` })
    await assert.rejects(nowhere, (error: Error) => error.message.includes('9…') && error.message.length < 200)
  })

  test('Merge', async () => {
    const a = { x: 1, in: { a: 1, b: 1 } }
    const b = { y: 2, in: { b: 2 } }
    assert.deepEqual(await outputOf('dict.Merge', { a, b }), { x: 1, y: 2, in: { b: 2 } })
    assert.deepEqual(await outputOf('dict.Merge', { a, b, deep: true }), { x: 1, y: 2, in: { a: 1, b: 2 } })
    assert.deepEqual(await outputOf('dict.Merge'), {})
    await assert.rejects(outputOf('dict.Merge', { a: [1] }), /expected dict\[str, any\], got a list/)
  })

  test('Merge keeps to own keys, and keys keep their order', async () => {
    const b = JSON.parse('{"__proto__": {"polluted": true}, "x": {"z": 3}}')
    for (const deep of [false, true]) {
      const made = (await outputOf('dict.Merge', { a: { x: { y: 1 }, w: 2 }, b, deep })) as object
      assert.equal((made as { polluted?: boolean }).polluted, undefined)
      assert.deepEqual(Object.keys(made), ['x', 'w', '__proto__'])
    }
  })

  test('Merge processes each key once, however many there are', async () => {
    const size = 50_000
    const side = (name: string) =>
      Object.fromEntries(Array.from({ length: size }, (_, at) => [`${name}${at}`, { [name]: at }]))
    const [a, b] = [side('a'), { ...side('b'), a0: { b: 0 } }]
    // Copying the whole object for each key would write 2.5 billion entries, which takes minutes.
    const began = process.cpuUsage()
    const made = (await outputOf('dict.Merge', { a, b, deep: true })) as Record<string, unknown>
    const used = process.cpuUsage(began)
    assert.equal(Object.keys(made).length, 2 * size)
    assert.deepEqual(made.a0, { a: 0, b: 0 })
    assert.ok((used.user + used.system) / 1000 < 5000)
  })

  test('Merge refuses values that contain the same objects many times', async () => {
    let [a, b]: Record<string, unknown>[] = [{ one: 1 }, { two: 2 }]
    for (let level = 0; level < 40; level++)
      [a, b] = [
        { x: a, y: a },
        { x: b, y: b },
      ]
    await assert.rejects(outputOf('dict.Merge', { a, b, deep: true }), /too_large/)
    await assert.rejects(outputOf('compare.Equal', { a, b: structuredClone(a) }), /too_large/)
    await assert.rejects(outputOf('json.Stringify', { value: a }), /too_large/)
  })

  test('Keys', async () => {
    assert.deepEqual(await fire('dict.Keys', { dict: { b: 1, a: 2 } }), { keys: ['b', 'a'], values: [1, 2] })
    assert.deepEqual(await fire('dict.Keys', { dict: {} }), { keys: [], values: [] })
    await assert.rejects(fire('dict.Keys', { dict: 'x' }), /type_mismatch/)
  })

  test('Select', async () => {
    assert.deepEqual(await outputOf('dict.Select', { dict: { a: 1, b: 2 }, keys: ['b', 'z'] }), { b: 2 })
    assert.deepEqual(await outputOf('dict.Select', { dict: { a: 1, b: 2 }, keys: ['b'], invert: true }), { a: 1 })
    assert.deepEqual(await outputOf('dict.Select', { dict: {} }), {})
    for (const invert of [false, true])
      assert.deepEqual(await outputOf('dict.Select', { dict: { a: 1 }, keys: [], invert }), { a: 1 })
    await assert.rejects(outputOf('dict.Select', { dict: {}, keys: [1] }), /type_mismatch/)
  })

  test('Rename', async () => {
    assert.deepEqual(await outputOf('dict.Rename', { dict: { a: 1, b: 2 }, names: { a: 'x' } }), { x: 1, b: 2 })
    assert.deepEqual(await outputOf('dict.Rename', { dict: {}, names: {} }), {})
    assert.deepEqual(await outputOf('dict.Rename', { dict: { a: 1 }, names: { z: 'x' } }), { a: 1 })
    const swapped = { dict: { a: 1, b: 2 }, names: { a: 'b', b: 'a' } }
    assert.deepEqual(await outputOf('dict.Rename', swapped), { b: 1, a: 2 })
    for (const names of [{ a: 'b' }, { b: 'a' }, { a: 'x', b: 'x' }])
      await assert.rejects(outputOf('dict.Rename', { dict: { a: 1, b: 2 }, names }), /duplicate_key: Two values/)
    await assert.rejects(outputOf('dict.Rename', { dict: {}, names: { a: 1 } }), /type_mismatch/)
  })

  test('FromLists', async () => {
    assert.deepEqual(await outputOf('dict.FromLists', { keys: ['a', 'b'], values: [1, [2]] }), { a: 1, b: [2] })
    assert.deepEqual(await outputOf('dict.FromLists', { keys: [], values: [] }), {})
    await assert.rejects(outputOf('dict.FromLists', { keys: ['a'], values: [] }), /1 keys for 0 values/)
  })
})

describe('compare', () => {
  test('Equal', async () => {
    assert.equal(await outputOf('compare.Equal', { a: { x: [1], y: 2 }, b: { y: 2, x: [1] } }), true)
    assert.equal(await outputOf('compare.Equal', { a: 'Yes', b: 'yES', ignore_case: true }), true)
    assert.equal(await outputOf('compare.Equal', { a: 1, b: '1' }), false)
    assert.equal(await outputOf('compare.Equal', { a: [], b: {} }), false)
    assert.equal(await outputOf('compare.Equal'), true)
    await assert.rejects(outputOf('compare.Equal', { ignore_case: 'yes' }), /type_mismatch/)
  })

  test('Compare', async () => {
    const of = (a: unknown, op: string, b: unknown) => outputOf('compare.Compare', { a, op, b })
    assert.deepEqual(await Promise.all(['<', '<=', '==', '!=', '>=', '>'].map((op) => of(1, op, 2))), [
      true,
      true,
      false,
      true,
      false,
      false,
    ])
    assert.equal(await of('a', '<', 'b'), true)
    assert.equal(await of('', '<', 'a'), true)
    await assert.rejects(of(1, '<', 'a'), /no_order: int and str cannot be ordered/)
    await assert.rejects(of(1, '<', null), /missing_property/)
    assert.equal(await of('a', '==', 'a'), true)
    for (const value of [true, [1], { a: 1 }])
      for (const op of ['<', '==', '!='])
        await assert.rejects(of(value, op, value), /no_order: .* compare\.Equal tells whether/)
    await assert.rejects(of(1, '!=', '1'), /no_order/)
  })

  test('Between', async () => {
    assert.equal(await outputOf('compare.Between', { value: 5, low: 5, high: 6 }), true)
    assert.equal(await outputOf('compare.Between', { value: 'd', low: 'a', high: 'c' }), false)
    await assert.rejects(outputOf('compare.Between', { value: 5, low: 'a', high: 6 }), /no_order/)
    await assert.rejects(outputOf('compare.Between', { value: 5 }), /missing_property/)
  })

  test('IsEmpty', async () => {
    for (const value of [null, '', [], {}]) assert.equal(await outputOf('compare.IsEmpty', { value }), true)
    for (const value of [0, false, ' ', [null], { a: 1 }])
      assert.equal(await outputOf('compare.IsEmpty', { value }), false)
  })
})

describe('logic', () => {
  test('Combine', async () => {
    const of = (op: string, conditions: unknown, dynamic = {}) => outputOf('logic.Combine', { op, conditions }, dynamic)
    assert.deepEqual(await Promise.all(['all', 'any', 'one'].map((op) => of(op, [true, false]))), [false, true, true])
    assert.deepEqual(await Promise.all(['all', 'any', 'one'].map((op) => of(op, []))), [true, false, false])
    assert.equal(await of('all', [true], { extra: false }), false)
    assert.equal(await of('one', [0, 2.5], { extra: 0 }), true)
    await assert.rejects(of('all', ['x']), /type_mismatch/)
    await assert.rejects(
      of('all', [], { fine: 1, extra: 'x' }),
      /bad_input: Condition "extra" is str\. A condition must be/,
    )
  })

  test('Not', async () => {
    assert.equal(await outputOf('logic.Not', { condition: false }), true)
    assert.equal(await outputOf('logic.Not', { condition: true }), false)
    await assert.rejects(outputOf('logic.Not'), /missing_property/)
    assert.equal(await outputOf('logic.Not', { condition: 0 }), true)
    assert.equal(await outputOf('logic.Not', { condition: 0.5 }), false)
    await assert.rejects(outputOf('logic.Not', { condition: 'x' }), /type_mismatch/)
  })
})
