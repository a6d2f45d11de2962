// What a task finds wrong with the files or with what is asked of them: told to whoever runs the workflow, in these words.

/**
 * `bad_file`: the file is damaged, hostile, or not what it says. `unsupported`: a kind of file, or of content in it, that is not read.
 * `too_large`: more than a limit. `bad_input`: what is asked for makes no sense with these files.
 */
export type MediaFaultType = 'bad_file' | 'unsupported' | 'too_large' | 'bad_input'

export class MediaFault extends Error {
  readonly type: MediaFaultType

  constructor(type: MediaFaultType, message: string, options?: ErrorOptions) {
    super(message, options)
    this.type = type
  }
}
