import { Fault } from '../../api/errors.ts'
import { Reply } from '../reply.ts'

/** Clients of the first generation look for the text of an error under either of two other names too. */
export async function withOlderErrors<T>(work: Promise<T>): Promise<T | Reply<never>> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof Fault) || error.status === 500) throw error
    const { message, code, retryable, status } = error
    return new Reply(status, { detail: message, code, retryable, error: message, message } as never)
  }
}
