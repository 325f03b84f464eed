import { useRef, useState } from 'preact/hooks'

export interface Action<A extends unknown[]> {
  /** Does nothing while the last one is under way. */
  run: (...args: A) => Promise<void>
  busy: boolean
  problem: unknown
  forget: () => void
}

/** Something a person starts: once at a time, and what went wrong is kept until the next try. */
export function useAction<A extends unknown[]>(action: (...args: A) => Promise<unknown>): Action<A> {
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<unknown>()
  const isBusy = useRef(false)
  const run = async (...args: A) => {
    if (isBusy.current) return
    isBusy.current = true
    setBusy(true)
    setProblem(undefined)
    try {
      await action(...args)
    } catch (error) {
      setProblem(error)
    } finally {
      isBusy.current = false
      setBusy(false)
    }
  }
  return { run, busy, problem, forget: () => setProblem(undefined) }
}
