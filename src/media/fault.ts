// Errors of tasks about their files or parameters. The user of the workflow sees these messages.

/**
 * `bad_file`: the file is damaged, hostile, or not of its stated kind. `unsupported`: the kind of the file, or of its content, is not supported.
 * `too_large`: a limit is exceeded. `bad_input`: the parameters make no sense for these files.
 */
export type MediaFaultType = 'bad_file' | 'unsupported' | 'too_large' | 'bad_input'

export class MediaFault extends Error {
  readonly type: MediaFaultType

  constructor(type: MediaFaultType, message: string, options?: ErrorOptions) {
    super(message, options)
    this.type = type
  }
}
