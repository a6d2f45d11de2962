// A caller on the other machine: it sends what it is told to send, and tells what came of it.
import { asked, type Options } from '../access/cases/wire.ts'

export interface Order {
  readonly options: Options
  readonly socket: boolean
}

process.on('message', ({ options, socket }: Order) => {
  const answer = asked(options, socket ? '/ws' : '/api/workflows', socket)
  answer.catch((error) => `no answer: ${error}`).then((seen) => process.send!(seen))
})
// So that it is known to listen.
process.send!('ready')
