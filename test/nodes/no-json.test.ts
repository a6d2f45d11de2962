// Errors for texts that are not JSON have the position of the mistake, but no part of the text, which may hold a secret.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outputOf } from './fire.ts'

const SECRET = 'sk-proj-Abcdefghijklmnopqrstuvwxyz0123'

async function refusal(type: string, text: string): Promise<string> {
  const failed = await outputOf(type, { text }).catch((error: Error) => error)
  return failed instanceof Error ? failed.message : assert.fail(`${text} is JSON`)
}

for (const type of ['json.Parse', 'data.ParseJsonLines'])
  test(`${type} shows no part of a secret`, async () => {
    for (const [before, after] of [
      ['{"the key": ', ', "b": 1}'],
      ['{"the first": 1, "the key": ', '}'],
      ['{"a": "', '" x, "and": "more", "of": "them"}'],
    ] as const) {
      const message = await refusal(type, `${before}${SECRET}${after}`)
      assert.match(message, /not JSON: (Unexpected token|Expected)/)
      for (let at = 0; at + 4 <= SECRET.length; at++) {
        const part = SECRET.slice(at, at + 4)
        assert.ok(!message.includes(part), `${message} has ${part}`)
      }
    }
  })

test('json.Parse reports the position, except in very long texts', async () => {
  const said = (text: string) => refusal('json.Parse', text)
  assert.equal(await said('{"a":\n yes}'), "not_json: The text is not JSON: Unexpected token 'y' (line 2, column 2)")
  assert.equal(await said(''), 'not_json: The text is not JSON: It ends too early (line 1, column 1)')
  assert.equal(await said(`[yes]${' '.repeat(1_000_000)}`), "not_json: The text is not JSON: Unexpected token 'y'")
})
