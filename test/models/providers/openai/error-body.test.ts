// The error bodies of servers in all known forms: their message, and the field that causes the error.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseErrorBody } from '../../../../src/models/providers/openai/error-body.ts'
import { leastProcessorMs } from '../../../helpers/processor.ts'
import type { Script } from '../../../helpers/upstream.ts'
import { answering, KEY, startAsking } from '../../openai-kit.ts'

const problem = { type: 'less_than_equal', loc: ['body', 'temperature'], msg: 'Input should be at most 2', input: 7 }
const deep = { loc: ['body', 'messages', 0, 'role'], msg: 'Field required' }

/** Bodies, with their message and field. */
const FORMS: Readonly<Record<string, readonly [body: unknown, message: string, param: string | null]>> = {
  OpenAI: [{ error: { message: 'no', type: 'invalid_request_error', param: 'top_p', code: null } }, 'no', 'top_p'],
  'OpenAI in a list': [[{ error: { message: 'no', param: 'top_p' } }], 'no', 'top_p'],
  'FastAPI, in words': [{ detail: 'too hot' }, 'too hot', null],
  'FastAPI, by field': [
    { detail: [problem, deep] },
    'temperature: Input should be at most 2; messages[0].role: Field required',
    'temperature',
  ],
  'FastAPI, of no field': [{ detail: [{ loc: ['body', 17], msg: 'JSON decode error' }] }, 'JSON decode error', null],
  'FastAPI, of a query': [{ detail: [{ loc: ['query', 'x'], msg: 'no' }, 'and more'] }, 'no; and more', null],
  Mistral: [
    { object: 'error', message: 'Invalid model: x', type: 'invalid_model', param: 'model', code: '1500' },
    'Invalid model: x',
    'model',
  ],
  'Mistral, by field': [
    { object: 'error', message: { detail: [problem] }, type: 'invalid_request_error', param: null, code: null },
    'temperature: Input should be at most 2',
    'temperature',
  ],
  'older vLLM': [
    { object: 'error', message: "[{'loc': ('body', 'top_k'), 'msg': 'bad'}]", type: 'BadRequestError', param: null },
    "[{'loc': ('body', 'top_k'), 'msg': 'bad'}]",
    'top_k',
  ],
  Ollama: [{ error: 'model is busy' }, 'model is busy', null],
  'a server in Go': [{ error: 'json: unknown field "foo"' }, 'json: unknown field "foo"', 'foo'],
  Azure: [
    { error: { message: 'Unrecognized request argument supplied: foo', param: null } },
    'Unrecognized request argument supplied: foo',
    'foo',
  ],
  'a gateway': [{ message: 'no route' }, 'no route', null],
  'a list of errors': [{ success: false, errors: [{ code: 7003, message: 'no such thing' }] }, 'no such thing', null],
  'an empty error': [{ error: {} }, '', null],
  'an error without words': [{ error: { message: null, param: 'top_p' } }, '', 'top_p'],
}

test('a key without its end is masked as well, from the guess threshold on', () => {
  const key = 'sk-proj-0123456789abcd'
  const said = (message: string) => parseErrorBody(JSON.stringify({ error: { message } }), key).message
  assert.equal(said(`bad key ${key.slice(0, -1)}!`), 'bad key ***!')
  assert.equal(said(`${key} ${key.slice(0, 18)}… ${key.slice(0, 20)}x`), '*** ***… ***x')
  assert.equal(said(`bad key ${key.slice(0, 17)}…`), `bad key ${key.slice(0, 17)}…`)
})

test('a fragment from any position of a key is masked, from an unguessable length on', () => {
  const key = 'sk-proj-0123456789abcdefghijklmn'
  const said = (message: string) => parseErrorBody(JSON.stringify({ error: { message } }), key).message
  assert.equal(said(`key ends in ${key.slice(-16)}.`), 'key ends in ***.')
  assert.equal(said(`key holds ${key.slice(10, 27)} and ${key.slice(12, 30)}`), 'key holds *** and ***')
  assert.equal(said(`key ends in ${key.slice(-15)}.`), `key ends in ${key.slice(-15)}.`)
  assert.equal(said(`no ${key.slice(-16).replace('m', '\\u006d')}`), '')
})

test('any key that is shown with only its ends is masked by its form', () => {
  for (const key of ['sk-abcd0123456789wxyz', 'sk-another-key-altogether'])
    for (const shown of ['sk-abcd…wxyz', 'sk-abcd...wxyz', 'sk-abcd*************wxyz', 'abcd****wxyz']) {
      const body = { error: { message: `Incorrect API key provided: ${shown}. See messages...content` } }
      assert.equal(
        parseErrorBody(JSON.stringify(body), key).message,
        'Incorrect API key provided: ***. See messages...content',
      )
    }
})

describe('an error in the form of', () => {
  for (const [name, [body, message, param]] of Object.entries(FORMS)) {
    test(`${name} keeps its message and its field`, () => {
      const told = parseErrorBody(JSON.stringify(body), KEY)
      assert.deepEqual([told.message, told.param, told.own], [message, param, true])
    })

    test(`${name} reaches the caller, wherever it is split`, async () => {
      const text = JSON.stringify(body)
      const script = (n: number): Script => ({ status: 400, body: text, split: [n + 1] })
      await using asking = await startAsking({ answer: (_, n) => script(n) })
      const said = message === '' ? 'refused the request (status 400).' : `refused the request: ${message}`
      for (let offset = 1; offset < text.length; offset++)
        await assert.rejects(asking.ask(), { message: `The provider "acme" ${said}`, param }, `split at ${offset}`)
    })
  }

  test('an empty or unknown body gives no message', () => {
    for (const text of ['', '<html>', 'null', '[]', '17', '{'])
      assert.deepEqual(parseErrorBody(text, KEY), { message: '', param: null, code: null, type: null, own: false })
    assert.equal(parseErrorBody('{"detail":"Not Found"}', null).own, false)
    assert.deepEqual(
      [parseErrorBody('{}', null).own, parseErrorBody('{"detail":[[[["deep"]]]]}', null).message],
      [false, ''],
    )
  })

  test('any kind shows no key, and cuts long texts', () => {
    for (const body of [
      { detail: [{ loc: ['body', KEY], msg: `bad ${KEY}` }] },
      { object: 'error', message: { detail: [{ loc: ['body', 'x'], msg: KEY }] }, param: KEY, code: KEY, type: KEY },
      { error: `unknown field "${KEY}"` },
      { errors: [{ message: KEY.replace('k', '\\u006b') }] },
    ])
      assert.ok(!JSON.stringify(parseErrorBody(JSON.stringify(body), KEY)).includes(KEY.slice(3)), JSON.stringify(body))
    const many = Array.from({ length: 1_000 }, () => ({ loc: ['body', 'x'.repeat(300)], msg: 'y'.repeat(300) }))
    const { message, param } = parseErrorBody(JSON.stringify({ detail: many }), null)
    assert.deepEqual([message.length, param?.length], [501, 101])
  })

  test('a megabyte takes a short time, with any number of escapes, and shows no part of a key at the cut', () => {
    const nested = JSON.stringify({ error: { message: `%${'25'.repeat(500_000)}`, code: `%${'25'.repeat(10)}` } })
    const took = leastProcessorMs(100, () => parseErrorBody(nested, KEY))
    assert.ok(took < 100, `it took ${took} ms of the processor`)
    const long_key = 'k3y-'.padEnd(1_000, '0123456789abcdefghijklmnopqrstuvwxyz')
    const { message } = parseErrorBody(JSON.stringify({ error: { message: long_key.repeat(100) } }), long_key)
    assert.match(message, /^\**$/)
  })
})

describe('an error in the place of an answer', () => {
  for (const [what, event, fault] of [
    ['of the form of Mistral', { object: 'error', message: 'x', type: 'rate_limited', code: '1300' }, 'rate_limited'],
    ['of limits, by its number', { object: 'error', message: 'x', code: 429 }, 'rate_limited'],
    ['of limits, by its kind', { error: { message: 'x', type: 'rate_limit_error' } }, 'rate_limited'],
    ['of FastAPI', { detail: [problem] }, 'failed'],
    ['without a word', { error: {} }, 'failed'],
    [
      'of one of its choices',
      { choices: [{ error: { code: 429, message: 'x' }, finish_reason: 'error' }] },
      'rate_limited',
    ],
    ['of a choice, without a word', { choices: [{ delta: {}, finish_reason: 'error' }] }, 'failed'],
  ] as const) {
    test(`${what} fails it`, async () => {
      await using asking = await startAsking(answering({ events: [event] }, { body: JSON.stringify(event) }))
      for (let times = 0; times < 2; times++) await assert.rejects(asking.ask(), { name: 'ProviderError', fault })
    })
  }
})
