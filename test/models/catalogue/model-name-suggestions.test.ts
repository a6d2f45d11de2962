// Misspelt names of models: the caller gets the nearest name, or learns where the names are listed.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { call } from '../../helpers/http.ts'
import { pricedProvider } from '../../helpers/priced-provider.ts'
import { svc } from '../../helpers/process.ts'
import { startServer } from '../../helpers/server.ts'
import { chat, preflightOf } from '../../lifecycle/preflight-kit.ts'
import { chatting, run } from '../kit.ts'

const LISTED = 'GET /v1/models lists the models that there are.'

describe('a misspelt model', () => {
  const cases: readonly (readonly [model: string, message: string])[] = [
    ['pricd/small', 'There is no provider "pricd" of models. Did you mean "priced/small"?'],
    ['builtin/ecko', 'The provider "builtin" has no model "ecko". Did you mean "builtin/echo"?'],
    ['priced/smal', 'The provider "priced" has no model "smal". Did you mean "priced/small"?'],
    ['priced/gigantic', `The provider "priced" has no model "gigantic". ${LISTED}`],
    ['nobody/small', `There is no provider "nobody" of models. ${LISTED}`],
  ]
  for (const [model, message] of cases)
    test(`gets a suggestion at the endpoints and in nodes: ${model}`, async () => {
      await using server = await startServer({ providers: [pricedProvider()] })
      const body = { model, messages: [{ role: 'user', content: 'x' }] }
      const asked = await call<{ error: object }>(server, 'POST', '/v1/chat/completions', { body })
      assert.deepEqual(
        [asked.status, asked.body.error],
        [404, { message, type: 'model_not_found', param: 'model', code: 404 }],
      )
      const read = await call<{ error: object }>(server, 'GET', `/v1/models/${model}`)
      assert.deepEqual(read.body.error, asked.body.error)
      const { status, error } = await run(server, chatting({ model }))
      assert.deepEqual([status, (error as { message: string }).message], ['failed', message])
    })

  test('gets a suggestion in a preflight', async () => {
    await using server = await startServer({ providers: [pricedProvider()] })
    const told = async (model: string, kind: string) => {
      const { requirements } = await preflightOf(server, chat({ model, prompt: 'x' }))
      return requirements.find((one) => one.kind === kind)?.message
    }
    assert.equal(
      await told('pricd/small', 'provider'),
      'This server has no such provider. Did you mean "priced/small"?',
    )
    assert.equal(
      await told('builtin/ecko', 'model'),
      'The provider does not list this model. Did you mean "builtin/echo"?',
    )
  })

  test('gets a hint in the terminal that names the command for lists', async () => {
    const told = async (model: string) => {
      const { stderr } = await svc(['run', 'answer-from-facts', '--param', 'question=x', '--param', `model=${model}`])
      return stderr
    }
    assert.match(await told('builtin/ecko'), /Did you mean "builtin\/echo"\?/)
    assert.match(await told('nobody/x'), /"nobody" of models\. svc models lists the available models\./)
  })
})

test('a misspelt workflow gets a suggestion where it is called as a model', async () => {
  await using server = await startServer()
  const asked = async (model: string) => {
    const body = { model, messages: [{ role: 'user', content: 'x' }] }
    const { body: told } = await call<{ error: { message: string } }>(server, 'POST', '/v1/chat/completions', { body })
    return told.error.message
  }
  assert.equal(await asked('workflow/greting'), 'There is no workflow "greting". Did you mean "workflow/greeting"?')
  assert.equal(await asked('workflow/nothing-at-all'), `There is no workflow "nothing-at-all". ${LISTED}`)
})
