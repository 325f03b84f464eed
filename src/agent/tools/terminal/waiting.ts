/** As the promise, or undefined when that takes longer. */
export async function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>(resolve => {
    timer = setTimeout(() => resolve(undefined), ms)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** As the promise, or rejects with the reason of the signal as soon as that is aborted. */
export async function unlessAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  signal.throwIfAborted()
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', onAbort))
}

/** How long to wait for something that makes itself heard, in milliseconds. */
export interface Patience {
  /** At all. */
  most: number
  /** Without hearing anything. As long as at all, unless given. */
  quiet?: number
  /** Without hearing anything more, after something was heard. */
  after?: number
}

/** Waits, and says why no longer. `listen` is given what to call when something is heard. */
export function waitFor(
  done: Promise<unknown>,
  { most, quiet = most, after = quiet }: Patience,
  listen: (heard: () => void) => void,
  signal: AbortSignal,
): Promise<'done' | 'quiet' | 'most'> {
  const { promise, resolve } = Promise.withResolvers<'done' | 'quiet' | 'most'>()
  const limit = setTimeout(resolve, most, 'most')
  let silence = setTimeout(resolve, quiet, 'quiet')
  listen(() => {
    clearTimeout(silence)
    silence = setTimeout(resolve, after, 'quiet')
  })
  void done.then(() => resolve('done'))
  return unlessAborted(signal, promise).finally(() => {
    listen(() => undefined)
    clearTimeout(limit)
    clearTimeout(silence)
  })
}
