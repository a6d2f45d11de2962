// The server's capabilities, read once.
import { isMap, type JsonMap } from './json.ts'
import { shown } from './target.ts'
import type { Trial } from './trial.ts'
import { expect } from './verdicts.ts'

/** @throws Skip where the server does not claim them */
export async function capabilities(t: Trial): Promise<JsonMap> {
  t.needs('getCapabilities')
  const answer = await t.once('capabilities', () => t.good('getCapabilities', 200))
  const { request, answer: got } = shown(answer)
  expect(isMap(answer.body), 'the capabilities are an object', request, got)
  return answer.body
}
