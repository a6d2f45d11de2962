// The service as a process with a test provider: `SVC_SECRET_PRICED_KEY` is its credential, and each call is a line in `PRICED_CALLS`. The prompt
// selects the behaviour: `hang` gives a piece and then nothing at its first call, and `leak` fails with the credential. Other prompts are answered.
import { appendFileSync, readFileSync } from 'node:fs'
import { readConfig } from '../../src/config.ts'
import { createServer } from '../../src/server.ts'
import { dollars, pricedProvider } from '../helpers/priced-provider.ts'

const provider = pricedProvider({
  credential: 'PRICED_KEY',
  models: { small: dollars(0, 0, 1) },
  answer({ messages }) {
    const prompt = String(messages.at(-1)!.content)
    const calls = process.env.PRICED_CALLS!
    appendFileSync(calls, `${prompt}\n`)
    const hangs = prompt.startsWith('hang') && readFileSync(calls, 'utf8').split(prompt).length === 2
    const before = prompt === 'hang at once' ? 0 : 1
    const failure = new Error(`401: the key ${process.env.SVC_SECRET_PRICED_KEY} is wrong`)
    return {
      ...(hangs ? { waits: { before, for: () => new Promise(() => {}) } } : {}),
      ...(prompt === 'leak' ? { fails: { before: 1, with: failure } } : {}),
    }
  },
})

const config = readConfig(process.env, { host: '127.0.0.1', port: 0 })
const server = await createServer(config, { providers: [provider] })
process.stdout.write(`listens on ${server.url}\n`)
