// Parameters of the command line: how each type is read, which source wins, and every problem at once.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { readParams } from '../../../src/cli/run/params.ts'
import { InputReader } from '../../../src/cli/shared/input-reader.ts'
import { CommandError, EXIT_CODES } from '../../../src/cli/shared/terminal.ts'
import { echo, planOf, Screen } from '../kit.ts'

let folder: string
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-test-'))
})
after(() => rmSync(folder, { recursive: true, force: true }))

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

interface Given {
  param?: string[]
  params?: string
  own?: Record<string, unknown>
  stdin?: string
}

type InputSpec = { name: string; type: string; data?: Record<string, unknown> }

function read(inputs: readonly InputSpec[], { param = [], params, own = {}, stdin = '' }: Given) {
  const screen = new Screen(80, 24)
  const terminal = {
    stdin: Readable.from([Buffer.from(stdin)]),
    stdout: screen,
    stderr: screen,
    environment: {},
    stop: new AbortController().signal,
  }
  return readParams(planOf(echo(...inputs)), own, { param, params: params ?? null }, new InputReader(terminal, 1_000))
}

async function refusal(inputs: readonly InputSpec[], given: Given): Promise<CommandError> {
  try {
    await read(inputs, given)
  } catch (error) {
    assert.ok(error instanceof CommandError)
    return error
  }
  return assert.fail('the parameters were taken')
}

describe('a single param value', () => {
  const READ: readonly (readonly [type: string, text: string, value: unknown])[] = [
    ['String', 'Ada', 'Ada'],
    ['String', '5', '5'],
    ['String', '"x"', '"x"'],
    ['String', '', ''],
    ['String', 'a=b', 'a=b'],
    ['String', '@@home', '@home'],
    ['Integer', '42', 42],
    ['Integer', '-1', -1],
    ['Float', '1.5e3', 1_500],
    ['Boolean', 'true', true],
    ['List', '[1, "a"]', [1, 'a']],
    ['Object', '{"a": {"b": null}}', { a: { b: null } }],
    ['Any', '5', 5],
    ['Any', '"5"', '5'],
    ['Any', 'null', null],
    ['Any', 'five', 'five'],
    ['Any', '[1', '[1'],
  ]
  for (const [type, text, value] of READ) {
    test(`${type} reads ${JSON.stringify(text)} as ${JSON.stringify(value)}`, async () => {
      assert.deepEqual(await read([{ name: 'x', type }], { param: [`x=${text}`] }), { x: value })
    })
  }

  test('@file is the text of a file, as it is for a text and as JSON for the rest', async () => {
    const path = file('numbers.json', '[1, 2]\n')
    assert.deepEqual(await read([{ name: 'x', type: 'String' }], { param: [`x=@${path}`] }), { x: '[1, 2]\n' })
    assert.deepEqual(await read([{ name: 'x', type: 'List' }], { param: [`x=@${path}`] }), { x: [1, 2] })
    assert.deepEqual(await read([{ name: 'x', type: 'String' }], { param: ['x=@-'], stdin: 'ü' }), { x: 'ü' })
  })

  test('a name may be any text', async () => {
    const params = await read([{ name: '__proto__', type: 'String' }], { param: ['__proto__=x'] })
    assert.deepEqual(Object.entries(params), [['__proto__', 'x']])
  })
})

describe('a streamed input', () => {
  const stream = { name: 'x', type: 'Integer', data: { stream: true } }

  test('takes one item per --param', async () => {
    assert.deepEqual(await read([stream], { param: ['x=1', 'x=2', 'x=3'] }), { x: [1, 2, 3] })
    assert.deepEqual(await read([stream], { param: ['x=1'] }), { x: [1] })
    assert.deepEqual(await read([stream], {}), {})
  })

  test('takes the whole stream from a file', async () => {
    assert.deepEqual(await read([stream], { params: file('stream.json', '{"x": [4, 5]}') }), { x: [4, 5] })
  })

  test('of lists takes each list as one item', async () => {
    const lists = { name: 'x', type: 'List', data: { stream: true } }
    assert.deepEqual(await read([lists], { param: ['x=[1]', 'x=[2, 3]'] }), { x: [[1], [2, 3]] })
  })
})

describe('several sources of params', () => {
  const inputs = ['a', 'b', 'c'].map((name) => ({ name, type: 'String' }))

  test('--param overrides --params, and both override those of the record', async () => {
    const params = file('params.json', '{"b": "file", "c": "file"}')
    const own = { a: 'own', b: 'own', c: 'own' }
    assert.deepEqual(await read(inputs, { own, params, param: ['c=single'] }), { a: 'own', b: 'file', c: 'single' })
  })

  test('--params - is standard input, which can be read only once', async () => {
    const stdin = '{"a": "1", "b": "2", "c": "3"}'
    assert.deepEqual(await read(inputs, { params: '-', stdin }), { a: '1', b: '2', c: '3' })
    const error = await refusal(inputs, { params: '-', param: ['a=@-'], stdin })
    assert.deepEqual([error.code, error.message], [EXIT_CODES.usage, 'standard input (-) can be read only once'])
  })

  test('a file that holds something else is refused', async () => {
    for (const text of ['[1]', 'null', '"a"', '1']) {
      const error = await refusal(inputs, { params: file('other.json', text) })
      assert.equal(error.code, EXIT_CODES.invalid)
      assert.match(error.message, /must hold one JSON object/)
    }
  })
})

describe('problems with params', () => {
  test('unknown, missing and mistyped inputs are listed together, with what was meant', async () => {
    const inputs = [
      { name: 'name', type: 'String' },
      { name: 'age', type: 'Integer', data: { min: 0 } },
      { name: 'tags', type: 'List' },
      { name: 'ok', type: 'Boolean' },
    ]
    const error = await refusal(inputs, { param: ['nme=Ada', 'age=-1', 'tags=[1,', 'ok=yes', 'zzzzzzzz=1'] })
    assert.deepEqual([error.code, error.message], [EXIT_CODES.invalid, 'the parameters do not fit the workflow'])
    const known = 'Its inputs are "name", "age", "tags", "ok".'
    assert.deepEqual(
      error.problems.map(({ path, message }) => [path, message]),
      [
        ['/nme', `The workflow has no input "nme". ${known} Did you mean "name"?`],
        ['/zzzzzzzz', `The workflow has no input "zzzzzzzz". ${known}`],
        ['/name', 'The input "name" (str) is required.'],
        ['/age', 'The input "age" must be at least 0.'],
        [
          '/tags',
          'The input "tags" takes list[any], and the value is a string. It is not valid JSON: It ends too early. (line 1, column 4)',
        ],
        [
          '/ok',
          `The input "ok" takes a boolean (bool), and the value is a string. It is not valid JSON: Unexpected token 'y'. (line 1, column 1)`,
        ],
      ],
    )
  })

  test('a value that is deeper than a request may be is refused', async () => {
    const deep = '['.repeat(65) + ']'.repeat(65)
    const error = await refusal([{ name: 'x', type: 'List' }], { param: [`x=${deep}`] })
    assert.match(error.problems[0]!.message, /deeper than 64 levels/)
  })

  test('a file that is too large is refused', async () => {
    const error = await refusal([{ name: 'x', type: 'String' }], { param: [`x=@${file('large', 'x'.repeat(1_001))}`] })
    assert.deepEqual([error.code, /larger than 1000 bytes/.test(error.message)], [EXIT_CODES.invalid, true])
  })
})
