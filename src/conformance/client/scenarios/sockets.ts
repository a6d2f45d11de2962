// Sockets that break, fall silent, are closed or refused, and the two encodings.
import { accept, answer, follow, grow, jobOf, send, tell } from '../answers.ts'
import { greetingLife, status } from '../life.ts'
import type { Scenario, Turn } from '../scenario.ts'
import type { Stage } from '../stage.ts'
import { cancel, run } from '../tasks.ts'
import { CANCELS, COMPLETE, ENDED, FOLLOWS, GREETED, SUBMITS } from './common.ts'

/** Answers a subscription, sends these events, and breaks the socket. */
const sendingAndDropping =
  (positions: readonly number[], stored = 0): Turn =>
  (call, stage) => {
    const job = jobOf(call, stage)
    job.stored = Math.max(job.stored, stored)
    accept(call, stage)
    send(call, stage, positions)
    call.connection!.drop()
  }

function dropAll(stage: Stage): void {
  for (const connection of stage.connections) if (connection.open) connection.drop()
}

const beforeAnswer: Scenario = {
  id: 'lost-before-subscription-answer',
  title: 'The socket breaks before the subscription is answered',
  work: run(),
  step: FOLLOWS,
  play: { calls: { subscribe_job: [(call) => call.lose()] } },
  expected: GREETED,
}

const afterAcknowledgement: Scenario = {
  id: 'lost-after-acknowledgement',
  title: 'Every socket breaks after the submission is acknowledged',
  work: run(),
  step: SUBMITS,
  play: {
    calls: {
      submit_job: [
        (call, stage) => {
          answer(call, stage)
          if (stage.connections.some(({ open }) => open)) dropAll(stage)
          else stage.counts.set('drop the first', 1)
        },
      ],
    },
    open: (connection, stage) => {
      if (stage.counts.delete('drop the first')) connection.drop()
    },
  },
  expected: GREETED,
}

const duringReplay: Scenario = {
  id: 'lost-during-replay',
  title: 'The socket breaks in the middle of the replay',
  work: run(),
  step: FOLLOWS,
  play: { calls: { subscribe_job: [sendingAndDropping([1, 2], 5)] } },
  expected: COMPLETE,
}

const betweenEvents: Scenario = {
  id: 'lost-between-events',
  title: 'The socket breaks between two live events',
  work: run(),
  step: FOLLOWS,
  play: {
    calls: {
      subscribe_job: [
        (call, stage) => {
          const job = accept(call, stage)
          send(call, stage, [1, 2])
          stage.after(20, () => {
            tell(stage, job, [3, 4])
            dropAll(stage)
          })
        },
      ],
    },
  },
  expected: COMPLETE,
}

const beforeTerminal: Scenario = {
  id: 'lost-before-terminal',
  title: 'The socket breaks right before the end of the job',
  work: run(),
  step: FOLLOWS,
  play: {
    calls: {
      subscribe_job: [
        (call, stage) => {
          sendingAndDropping([1, 2, 3, 4, 5])(call, stage)
          jobOf(call, stage).stored = 6
        },
      ],
    },
  },
  expected: COMPLETE,
}

const afterCancel: Scenario = {
  id: 'lost-after-cancel',
  title: 'The socket breaks after the cancellation is acknowledged',
  work: cancel('running'),
  step: CANCELS,
  life: () => [status('accepted'), status('running')],
  play: {
    calls: {
      request_job_cancellation: [
        (call, stage) => {
          const job = jobOf(call, stage)
          grow(stage, job, [status('cancel_requested')])
          const snapshot = job.snapshot()
          call.reply({ job_id: job.job_id, status: 'cancel_requested', cancel_requested: true, snapshot })
          dropAll(stage)
          stage.reach()
        },
      ],
      subscribe_job: (call, stage) => {
        const job = jobOf(call, stage)
        follow(call, job, stage)
        if (stage.reached) stage.after(40, () => (job.terminal ? undefined : grow(stage, job, greetingLife().slice(5))))
      },
    },
  },
  late: true,
  expected: ENDED,
}

const beforeCancelAnswer: Scenario = {
  id: 'lost-before-cancel-answer',
  title: 'A cancellation is lost before it arrives',
  work: cancel('running'),
  step: CANCELS,
  life: () => [status('accepted'), status('running')],
  play: { calls: { request_job_cancellation: [(call) => call.lose()] } },
  expected: { status: ['cancelled'], value: null, events: 'rising' },
}

const restart: Scenario = {
  id: 'restart',
  title: 'The server restarts and closes the socket with 1012',
  work: run(),
  step: FOLLOWS,
  play: {
    calls: {
      subscribe_job: [
        (call, stage) => {
          accept(call, stage)
          send(call, stage, [1, 2, 3])
          call.connection!.close(1012, 'restarting')
        },
      ],
    },
  },
  expected: COMPLETE,
}

const WINDOW_MS = 500
const MOST_ATTEMPTS = 10

const backoff: Scenario = {
  id: 'backoff',
  title: 'Handshakes are refused with 503 for half a second',
  work: run(),
  step: 'a handshake for /ws',
  play: {
    upgrade: (stage) => {
      stage.reach()
      const times = stage.count('handshake')
      if (times === 1) stage.after(WINDOW_MS, () => stage.counts.set('window over', 1))
      if (stage.counts.has('window over')) return null
      if (times > MOST_ATTEMPTS) stage.violate(`it tried ${times} times within ${WINDOW_MS} ms`)
      return 503
    },
  },
  expected: GREETED,
}

export const sockets = [
  beforeAnswer,
  afterAcknowledgement,
  duringReplay,
  betweenEvents,
  beforeTerminal,
  afterCancel,
  beforeCancelAnswer,
  restart,
  backoff,
]
