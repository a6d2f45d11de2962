// The shorthand of types, assignability, and the conversions on edges.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { findNearest } from '../../../../src/engine/node-api/did-you-mean.ts'
import {
  createCoercion,
  createTypeCheck,
  TypeMismatchError,
  withBounds,
} from '../../../../src/engine/node-api/values/coercion.ts'
import { conforms, getValueKind } from '../../../../src/engine/node-api/values/type-conformance.ts'
import {
  createEnumType,
  formatType,
  isAssignable,
  parseType,
  readTypeMetadata,
  type TypeMetadata,
} from '../../../../src/engine/node-api/values/type-metadata.ts'
import { takesLess } from '../../../helpers/patience.ts'

describe('types', () => {
  test('a shorthand is read and formatted to the same text', () => {
    for (const text of ['str', 'list[str]', 'dict[str, list[int]]', 'union[int, str]?', 'any', 'list[any]?']) {
      assert.equal(formatType(parseType(text)), text)
    }
    assert.deepEqual(parseType('list[int]'), {
      type: 'list',
      optional: false,
      values: [],
      type_args: [parseType('int')],
      type_name: null,
    })
    assert.equal(formatType(createEnumType('a', 2)), 'enum(a | 2)')
  })

  test('an invalid shorthand throws', () => {
    for (const text of ['', 'list[', 'list[]', 'str str]', '[int]', 'list[int]]'])
      assert.throws(() => parseType(text), text)
  })

  test('metadata of clients is read even if fields are missing', () => {
    assert.deepEqual(
      readTypeMetadata({ type: 'list', type_args: [{ type: 'int' }], values: null }),
      parseType('list[int]'),
    )
    for (const nothing of [null, {}, 'str', 5, { type: '' }]) assert.equal(readTypeMetadata(nothing).type, 'any')
  })

  test('two types that list very many values are compared in little time', async () => {
    const choice = (from: number, last: number) =>
      createEnumType(...Array.from({ length: 255 }, (_, at) => from + at), last)
    const union = (members: TypeMetadata[]) => readTypeMetadata({ type: 'union', type_args: members })
    // Only the last value of each member is in the other type, and only in its last member.
    const source = union(Array.from({ length: 15 }, (_, at) => choice(1_000 * (1 + at), 0)))
    const target = union(Array.from({ length: 15 }, (_, at) => choice(50_000 + 1_000 * at, at === 14 ? 0 : 1)))
    const again = (work: () => unknown) => {
      for (let times = 0; times < 20; times++) work()
    }
    await takesLess(120, () => again(() => assert.ok(isAssignable(source, target))))
    // All values of each member but the last one are in each member of the other type.
    const inner = union(Array.from({ length: 15 }, () => choice(0, 300)))
    const outer = union(Array.from({ length: 15 }, () => choice(0, 301)))
    await takesLess(120, () => again(() => assert.ok(createCoercion(inner, outer))))
  })

  const FITTING: [string, string][] = [
    ['str', 'str'],
    ['any', 'int'],
    ['int', 'any'],
    ['int', 'float'],
    ['float', 'int'],
    ['str', 'list[str]'],
    ['int', 'list[float]'],
    ['list[int]', 'list[float]'],
    ['list[any]', 'list[str]'],
    ['list', 'list[str]'],
    ['int', 'union[str, int]'],
    ['union[int, float]', 'float'],
    ['union[int, str]', 'union[str, int, bool]'],
    ['dict[str, int]', 'dict[str, float]'],
    ['image', 'image'],
    ['any', 'list[str]'],
  ]
  for (const [source, target] of FITTING)
    test(`${source} fits ${target}`, () => assert.ok(isAssignable(parseType(source), parseType(target))))

  const MISFITS: [string, string][] = [
    ['str', 'int'],
    ['int', 'str'],
    ['bool', 'int'],
    ['list[str]', 'str'],
    ['list[str]', 'list[int]'],
    ['list[str]', 'list[list[str]]'],
    ['union[int, str]', 'int'],
    ['dict[str, str]', 'dict[str, int]'],
    ['image', 'audio'],
    ['dict', 'list[str]'],
  ]
  for (const [source, target] of MISFITS)
    test(`${source} does not fit ${target}`, () => assert.ok(!isAssignable(parseType(source), parseType(target))))

  test('enums fit texts and overlapping enums', () => {
    assert.ok(isAssignable(createEnumType('a', 'b'), parseType('str')))
    assert.ok(isAssignable(parseType('str'), createEnumType('a')))
    assert.ok(isAssignable(createEnumType('a', 'b'), createEnumType('b', 'c')))
    assert.ok(!isAssignable(createEnumType('a'), createEnumType('b')))
  })
})

describe('values', () => {
  const GOOD: [unknown, string][] = [
    ['x', 'str'],
    [1, 'int'],
    [2.0, 'int'],
    [1.5, 'float'],
    [true, 'bool'],
    [[1, 2], 'list[int]'],
    [[], 'list[str]'],
    [{ a: [1] }, 'dict[str, list[int]]'],
    [null, 'str?'],
    [null, 'any'],
    ['x', 'union[int, str]'],
    [{ type: 'image', uri: '/api/storage/x' }, 'image'],
    [{ anything: 1 }, 'my_own_type'],
  ]
  for (const [value, type] of GOOD)
    test(`${JSON.stringify(value)} is ${type}`, () => assert.ok(conforms(value, parseType(type))))

  const BAD: [unknown, string][] = [
    [1, 'str'],
    [1.5, 'int'],
    [Number.NaN, 'float'],
    [Number.POSITIVE_INFINITY, 'float'],
    [Number.NaN, 'any'],
    [Number.NEGATIVE_INFINITY, 'any'],
    ['true', 'bool'],
    [null, 'str'],
    [['a', 1], 'list[str]'],
    [[1], 'dict'],
    [{ a: 'x' }, 'dict[str, int]'],
    [{ type: 'audio' }, 'image'],
    [true, 'union[int, str]'],
  ]
  for (const [value, type] of BAD)
    test(`${getValueKind(value)} ${JSON.stringify(value)} is no ${type}`, () =>
      assert.ok(!conforms(value, parseType(type))))

  test('an edge does not convert values if the types match', () => {
    for (const [source, target] of [
      ['str', 'str'],
      ['int', 'float'],
      ['list[int]', 'list[float]'],
      ['any', 'any'],
      ['int', 'any'],
    ]) {
      assert.equal(createCoercion(parseType(source!), parseType(target!)), null, `${source} to ${target}`)
    }
  })

  test('an edge wraps one value into a list, checks open types, and reports the kind of a misfit', () => {
    assert.deepEqual(createCoercion(parseType('str'), parseType('list[str]'))?.('x'), ['x'])
    assert.equal(createCoercion(parseType('float'), parseType('int'))?.(2), 2)
    assert.throws(
      () => createCoercion(parseType('float'), parseType('int'))?.(2.5),
      new TypeMismatchError('expected an integer (int), got a float'),
    )
    assert.throws(
      () => createCoercion(parseType('any'), parseType('str'))?.(null),
      new TypeMismatchError('expected a string (str), got null'),
    )
    assert.throws(
      () => createCoercion(parseType('list[any]'), parseType('list[int]'))?.(['x']),
      new TypeMismatchError('expected list[int], got a list with other values in it'),
    )
    assert.throws(
      () => createCoercion(parseType('str'), createEnumType('a'))?.('b'),
      new TypeMismatchError('expected enum(a), got "b"'),
    )
    assert.throws(() => createCoercion(parseType('str?'), parseType('str'))?.(null), TypeMismatchError)
  })

  test('limits are checked after the type', () => {
    const limited = withBounds(createTypeCheck(parseType('int')), { min: 1, max: 3 })!
    assert.equal(limited(3), 3)
    assert.throws(() => limited(0), new TypeMismatchError('must be at least 1', 'out_of_range'))
    assert.throws(() => limited(4), new TypeMismatchError('must be at most 3', 'out_of_range'))
    assert.throws(() => limited('x'), new TypeMismatchError('expected an integer (int), got a string'))
    const choice = withBounds(null, { values: ['a', 'b'] })!
    assert.throws(() => choice('c'), new TypeMismatchError('must be one of a, b, not "c"', 'out_of_range'))
    assert.throws(() => createTypeCheck(createEnumType('a'))('x'.repeat(99)), /got "x{40}…"$/)
    assert.throws(() => createTypeCheck(createEnumType('a'))([]), /got a list$/)
    assert.equal(withBounds(null, {}), null)
  })
})

describe('suggestions', () => {
  test('find the nearest name, or none', () => {
    const names = ['text.Template', 'text.Trim', 'list.Sort']
    assert.equal(findNearest('text.template', names), 'text.Template')
    assert.equal(findNearest('Sort', names), 'list.Sort')
    assert.equal(findNearest('text.Tirm', names), 'text.Trim')
    assert.equal(findNearest('video.Encode', names), null)
    assert.equal(findNearest('', names), null)
    assert.equal(findNearest('x'.repeat(100_000), names), null)
  })
})
