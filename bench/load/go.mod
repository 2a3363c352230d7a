module kconf/bench/load

go 1.22
