"""The environment of `mapa_rl::Day` in NumPy, to be compared with it: steps per second, and a day step for step.

Written from the description of the environment: eight A100s in the layouts of Hisaria et al., the queue by deadline, a step for
each start of its head. Run by `cargo run --release -p mapa-benches --example energy_env`, which passes a file of jobs.

usage: energy_env.py JOBS OUT SECONDS
JOBS  numbers of 64 bits, seven a job: arrival, deadline, run time on slices of 1, 2, 3, 4, 7
OUT   is written: of each step its 88 numbers of 32 bits; then of each step its slice and its reward, 64 bits; then late jobs,
      tardiness, watt-minutes
SECONDS  how long each measurement takes at least, of the processor's time
Prints the steps per second of the processor's time with `numpy.histogram`, and with `searchsorted` and `bincount`, which are faster.
"""

import bisect
import heapq
import sys
import time

import numpy as np

LAYOUTS = [[7], [7], [4, 3], [4, 3], [4, 2, 1], [4, 2, 1], [2, 2, 2, 1], [2, 2, 2, 1]]
WATTS = np.array([40.0, 120.0, 160.0, 200.0, 240.0, 250.0, 250.0, 250.0])
EDGES = np.array([-100.0, 0.0, 0.05, 0.2, 0.5, 1.0, 5.0, 10.0, 20.0, 30.0, 1e9])
SIZES = np.array([size for gpu in LAYOUTS for size in gpu])
GPUS = np.array([gpu for gpu, sizes in enumerate(LAYOUTS) for _ in sizes])
COLUMN = {1: 0, 2: 1, 3: 2, 4: 3, 7: 4}
COLUMNS = np.array([COLUMN[size] for size in SIZES])
SHARES = (SIZES / 7.0).astype(np.float32)
WEIGHT = 2.25e-5


def histogram(numbers):
    return np.histogram(numbers, EDGES)[0]


def fast_histogram(numbers):
    bins = np.searchsorted(EDGES, numbers, side="right") - 1
    return np.bincount(bins[bins >= 0], minlength=10)[:10]


class Day:
    def __init__(self, jobs, count):
        self.arrivals = jobs[:, 0]
        self.deadlines = jobs[:, 1]
        self.minutes = jobs[:, 2:]
        # What is observed of each job, once for all.
        self.lengths = np.stack(
            [
                (self.minutes[:, 0] + self.minutes[:, 1]) / 2.0,
                (self.minutes[:, 2] + self.minutes[:, 3]) / 2.0,
                self.minutes[:, 4],
            ]
        )
        self.count = count

    def reset(self):
        self.now = 0.0
        self.arrived = 0
        self.queue = []  # (deadline, number), in order
        self.ends = []  # heap of (end, slice)
        self.deadline_on = np.zeros(len(SIZES))
        self.busy = np.zeros(len(SIZES), dtype=np.float32)
        self.used = np.zeros(len(LAYOUTS), dtype=np.int64)
        self.late = 0
        self.tardiness = 0.0
        self.energy = 0.0
        self.in_time = 0
        self.tardy = 0.0
        self.go_on()

    def pass_to(self, at):
        gpus = np.bincount(self.used, minlength=8)
        watts = 0.0
        for busy in range(8):
            watts += gpus[busy] * WATTS[busy]
        self.energy += watts * (max(self.now, at) - self.now)
        self.now = max(self.now, at)

    def go_on(self):
        """Lets time go on until jobs wait and a slice is free. True if the day is over."""
        while not self.queue or self.busy.all():
            end = self.ends[0][0] if self.ends else np.inf
            if self.arrived < len(self.arrivals) and self.arrivals[self.arrived] <= end:
                self.pass_to(self.arrivals[self.arrived])
                bisect.insort(self.queue, (self.deadlines[self.arrived], self.arrived))
                self.arrived += 1
            elif self.ends:
                self.pass_to(end)
                while self.ends and self.ends[0][0] <= end + 1e-9:
                    finish, slice_ = heapq.heappop(self.ends)
                    self.busy[slice_] = 0.0
                    self.used[GPUS[slice_]] -= SIZES[slice_]
                    late = max(finish - self.deadline_on[slice_], 0.0)
                    self.late += late > 0.0
                    self.tardiness += late
                    self.in_time += late == 0.0
                    self.tardy += late
            else:
                return True
        return False

    def mask(self):
        return self.busy == 0.0

    def observe(self):
        seen = np.zeros(88, dtype=np.float32)
        if self.queue:
            jobs = np.array([job for _, job in self.queue])
            left = self.deadlines[jobs] - self.now
            lengths = self.lengths[:, jobs]
            small, medium, fastest = lengths[:, 0]
            seen[:5] = (
                left[0] / 100.0,
                small / 100.0,
                medium / 100.0,
                fastest / 100.0,
                min(fastest / max(left[0], 0.01), 1.0),
            )
            part = np.float32(1.0) / np.float32(len(jobs))
            for row, numbers in enumerate([left, *lengths]):
                at = 5 + 10 * row
                seen[at : at + 10] = self.count(numbers).astype(np.float32) * part
        seen[45:65] = self.busy
        seen[65:85] = SHARES
        free = self.mask()
        seen[85] = min(len(self.queue) / 100.0, 1.0)
        seen[86] = free.sum() / len(SIZES)
        seen[87] = SHARES[free].max() if free.any() else 0.0
        return seen

    def step(self, slice_):
        """Starts the head of the queue on a slice: the reward as the authors' code has it, and whether the day is over."""
        if self.busy[slice_]:
            raise ValueError(f"slice {slice_} is busy: expected a free one")
        deadline, job = self.queue.pop(0)
        finish = self.now + self.minutes[job, COLUMNS[slice_]]
        heapq.heappush(self.ends, (finish, slice_))
        self.deadline_on[slice_] = deadline
        self.busy[slice_] = 1.0
        self.used[GPUS[slice_]] += SIZES[slice_]
        self.in_time, self.tardy = 0, 0.0
        reward = 0.01 * SIZES[slice_] / 7.0 + (0.05 if finish <= deadline else 0.0)
        if self.go_on():
            n = len(self.arrivals)
            cost = self.tardiness + WEIGHT * self.energy
            return 10.0 * (1.0 - self.late / n) - cost / n, True
        return reward + 0.1 * self.in_time - 0.2 * self.tardy, False


def choose(step, mask):
    """A free slice by the number of the step: the same on both sides."""
    free = np.flatnonzero(mask)
    return free[step * 7919 % len(free)]


def rate(day, seconds):
    steps, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        day.reset()
        over = False
        while not over:
            day.observe()
            _, over = day.step(choose(steps, day.mask()))
            steps += 1
    return steps / (time.process_time() - start)


def main():
    jobs_file, out, seconds = sys.argv[1:]
    jobs = np.fromfile(jobs_file, dtype="<f8").reshape(-1, 7)
    day = Day(jobs, histogram)
    fast = Day(jobs, fast_histogram)
    day.reset()
    fast.reset()
    seen, taken, over = [], [], False
    while not over:
        seen.append(day.observe())
        assert (seen[-1] == fast.observe()).all()
        slice_ = choose(len(taken), day.mask())
        reward, over = day.step(slice_)
        fast.step(slice_)
        taken.append((slice_, reward))
    with open(out, "wb") as file:
        np.array(seen, dtype="<f4").tofile(file)
        np.array(taken, dtype="<f8").tofile(file)
        np.array([day.late, day.tardiness, day.energy], dtype="<f8").tofile(file)
    print(rate(day, float(seconds)), rate(fast, float(seconds)))


if __name__ == "__main__":
    main()
