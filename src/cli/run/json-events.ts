// `--json-events`: writes a run as the frames that `/ws` would send of it, a JSON object a line.
import type { Config } from '../../config.ts'
import type { RunObserver } from '../../engine/runtime/run/observer.ts'
import { JobFrames } from '../../jobs/history/job-frames.ts'
import { UNREDACTED_TEXT_STREAM } from '../../jobs/run/chunk-redactor.ts'
import { createRunRecorder } from '../../jobs/run/recorder.ts'
import { createLog } from '../../log.ts'
import { systemPlatform } from '../../platform.ts'
import { Redactor } from '../../redaction/redactor.ts'
import { stringifyWithBase64 } from '../../shared/json.ts'
import { EXIT_CODES, type TerminalOutput } from '../shared/terminal.ts'

const STATUSES: Readonly<Record<number, 'completed' | 'failed'>> = {
  [EXIT_CODES.completed]: 'completed',
  [EXIT_CODES.failed]: 'failed',
  [EXIT_CODES.timed_out]: 'failed',
}

export interface JsonEventWriter {
  readonly observer: RunObserver
  /** Writes the last frame; `code` is the exit code. */
  end(code: number, error: string | null, seconds: number): void
}

type LogSettings = Pick<Config, 'log_level' | 'known_secrets'>

/** `workflow_id` is the label in the frames; causes of faults go to the log, as on a server. */
export function createJsonEventWriter(
  workflow_id: string,
  output: TerminalOutput,
  { log_level, known_secrets }: LogSettings,
): JsonEventWriter {
  const job_id = systemPlatform().id('job')
  const frames = new JobFrames(job_id, workflow_id)
  const write = (frame: object) => output.write(`${stringifyWithBase64(frame)}\n`)
  const sink = {
    row: { id: job_id, workflow_id },
    append: (_event: unknown, frame: object | null) => frame && write(frame),
    provisional: (frame: () => object) => write(frame()),
    toldNode: () => false,
    publish: (_node_id: string, _output_name: string, value: unknown) => [
      { value, asset: null, extras: [], text: null },
    ],
    publishRest: () => [],
    redact: <T>(value: T) => value,
    redactMessage: (text: string) => text,
    textStream: () => UNREDACTED_TEXT_STREAM,
    unwritable() {},
  }
  write(frames.jobUpdate('running'))
  return {
    observer: createRunRecorder(sink, createLog(log_level, new Redactor(known_secrets))),
    end(code, error, duration) {
      write(frames.jobUpdate(STATUSES[code] ?? 'cancelled', { ...(error === null ? {} : { error }), duration }))
    },
  }
}
