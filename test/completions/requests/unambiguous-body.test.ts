// Requests mean the same to a model server as here, also with duplicate names or names that differ only in case.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { encodeUnambiguousBody } from '../../../src/completions/requests/unambiguous-body.ts'
import { ServiceError } from '../../../src/errors.ts'
import { TimeSliceScheduler } from '../../../src/shared/time-slices.ts'
import { asking, CHAT, MODEL, post, startGateway } from '../kit.ts'

const OWNER = { user_id: 'one', workspace_id: null }
const LONG = 'x'.repeat(200_000)

async function passed(text: string): Promise<string> {
  const body = JSON.parse(text) as object
  return String(await encodeUnambiguousBody({ owner: OWNER, body, raw: Buffer.from(text) }, new TimeSliceScheduler()))
}

describe('a request that is passed on', () => {
  for (const [what, text] of Object.entries({
    'with white space and numbers beyond what is held here':
      '{ "model" : "m", "seed": 1152921504606846976, "messages":[ {"role":"user","content":"x"} ] }\n',
    'with colons, quotes and backslashes in its texts':
      '{"model":"m","messages":[{"role":"user","content":"a:\\":\\\\\\":\\\\"},{"role":"user","content":"\\\\"}],"x":{"a:b":":"}}',
    'with names of one schema that differ by case alone':
      '{"model":"m","messages":[],"tools":[{"type":"function","function":{"parameters":{"properties":{"a":{},"A":{}}}}}]}',
    'that is long': `{"model":"m","messages":[{"role":"user","content":"${LONG}\\\\"},{"role":"user","content":"${LONG}"}], "x":1}`,
  }))
    test(`${what} stays as it is`, async () => assert.equal(await passed(text), text))

  for (const [what, text] of Object.entries({
    'at the top': '{"model":"m","messages":[{"content":"other"}],"messages":[]}',
    'in a message': '{"model":"m","messages":[{"content":[{"type":"image_url"}],"content":"x"}]}',
    'by an escape': '{"model":"m","messages":[{"role":"user","rol\\u0065":"system"}]}',
    'in a long one': `{"model":"m","messages":[{"content":"${LONG}","content":"x"}]}`,
  }))
    test(`has each member once, ${what}, as it was read here`, async () =>
      assert.equal(await passed(text), JSON.stringify(JSON.parse(text))))

  for (const [path, text] of Object.entries({
    '/body/Model': '{"model":"m","Model":"other","messages":[]}',
    '/body/me\u017f\u017fages': '{"model":"m","messages":[],"me\u017f\u017fages":[]}',
    '/body/messages/1/Content': '{"model":"m","messages":[{},{"content":"x","Content":"y"}]}',
    '/body/messages/0/content/0/image_url/URL':
      '{"model":"m","messages":[{"content":[{"type":"image_url","image_url":{"url":"data:","URL":"http://10.0.0.1/"}}]}]}',
    '/body/messages/0/content/0/Type': `{"model":"m","messages":[{"content":[{"type":"text","Type":"image_url"}]}],"x":"${LONG}"}`,
  }))
    test(`is refused if ${path} differs from another member only in case`, async () => {
      const refusal = (error: unknown) => error instanceof ServiceError && error.problems[0]?.path === path
      await assert.rejects(passed(text), refusal)
    })
})

test('a server receives only the model that is paid for, and only URLs that were checked', async () => {
  await using at = await startGateway()
  const refused = await post(at.server, asking({ Model: 'expensive' }))
  assert.equal(refused.status, 400, refused.text)
  const vectors = JSON.stringify({ model: MODEL, input: 'a', messages: [{ role: 'user', content: [] }] })
  const { status, text } = await post(at.server, vectors, { path: '/v1/embeddings' })
  assert.deepEqual([status, JSON.parse(text).error.param], [400, 'messages'])
  assert.equal(at.upstream.posts.length, 0)
  const twice = `{"model":"${MODEL}","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://10.0.0.1/"}}],"content":"x"}]}`
  assert.equal((await post(at.server, twice, { path: CHAT })).status, 200)
  assert.doesNotMatch(String(at.upstream.posts[0]!.raw), /10\.0\.0\.1/)
})
